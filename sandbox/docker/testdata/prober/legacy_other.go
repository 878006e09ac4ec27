//go:build !amd64

package main

func legacy() map[string]probe { return nil }
