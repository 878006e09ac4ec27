// Child is the only program of a sandbox's system: it says that it is served, and with an argument it stays.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	fmt.Println("served")
	if len(os.Args) > 1 {
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
	}
}
