// Package setup reads a gateway's routes and prices from the operator's text.
//
//	routes:
//	  claude:
//	    preset: anthropic
//	    credential: {file: /etc/torno/anthropic.key}
//	prices:
//	  claude:
//	    claude-opus-*: {input: 5, output: 25}
//
// Load reads the file. If the file has a key that Load does not know, Load refuses it, and the error names the key and
// the nearest known word. Package upstreams then opens the credentials and transports; it dials nothing and reads no
// secret yet.
package setup
