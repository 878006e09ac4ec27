// Package setup makes a gateway's routes and prices of what the operator wrote.
//
//	routes:
//	  claude:
//	    preset: anthropic
//	    credential: {file: /etc/torno/anthropic.key}
//	prices:
//	  claude:
//	    claude-opus-*: {input: 5, output: 25}
//
// Load reads the file, and refuses it if it has a key that Load does not know: the error names the key and the nearest
// known word. Package upstreams opens what the routes need; it dials nothing and reads no secret yet.
package setup
