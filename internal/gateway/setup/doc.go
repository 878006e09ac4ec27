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
// Load reads the file, and refuses one that says anything that is not understood: the error names the key and the nearest
// right word. What the routes need is opened by package upstreams: a configuration is read also where nothing is dialled.
package setup
