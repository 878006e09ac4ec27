//go:build !linux

package patch

import "os"

func exchangeNames(*os.Root, string, string) error { return errNoExchange }
