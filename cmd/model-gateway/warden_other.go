//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

var errNoWarden = errors.New("a gateway can run as a user of its own on Linux only")

func (s *serving) guard(context.Context, io.Writer) (exit int, err error) { return 0, errNoWarden }

func (s *serving) inherited(context.Context, func()) (places, error) { return places{}, errNoWarden }
