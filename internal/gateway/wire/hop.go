package wire

import (
	"net/http"
	"strings"
)

// hopByHop are the fields that belong to one connection.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
}

// Forward returns a copy without the fields that belong to one connection: the fields in hopByHop, and the fields that
// Connection names.
func Forward(h http.Header) http.Header {
	forwarded := h.Clone()
	for _, name := range options(h["Connection"]) {
		forwarded.Del(name)
	}
	for _, name := range hopByHop {
		forwarded.Del(name)
	}
	return forwarded
}

// options returns the elements of comma-separated lists.
func options(values []string) (all []string) {
	for _, value := range values {
		for option := range strings.SplitSeq(value, ",") {
			if option = strings.Trim(option, " \t"); option != "" {
				all = append(all, option)
			}
		}
	}
	return all
}
