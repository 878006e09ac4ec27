// Command upstream is an upstream for trying the model gateway by hand, without a key of anybody and without a network:
//
//	go run ./test/upstream --listen 127.0.0.1:9999 --key sk-stand-in-0123456789
//
// What it answers to which message is in package standin.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"torno/test/upstream/standin"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9999", "where it listens")
	key := flag.String("key", "", "the only key that it takes; without one it takes all")
	flag.Parse()
	server := &http.Server{Addr: *listen, Handler: standin.New(*key), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, "upstream: listens on", *listen)
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}
