package adapter

import "strings"

// shellWords splits a command into the words that a shell would make of it. The command may have only plain and quoted
// words. ok is false if a shell would interpret anything in it.
func shellWords(command string) (words []string, ok bool) {
	var word strings.Builder
	open, in := byte(0), false // the open quote, or 0; within a word
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case open == '\'' && c == '\'', open == '"' && c == '"':
			open = 0
		case open == '\'':
			word.WriteByte(c)
		case open == '"' && c == '\\' && i+1 < len(command) && strings.IndexByte("$`\"\\", command[i+1]) >= 0:
			i++
			word.WriteByte(command[i])
		case open == '"' && (c == '$' || c == '`'):
			return nil, false
		case open == '"':
			word.WriteByte(c)
		case c == '\'' || c == '"':
			open, in = c, true
		case c == ' ':
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		case isPlainByte(c):
			in = true
			word.WriteByte(c)
		default:
			return nil, false
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words, open == 0
}

func isPlainByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("%+,-./:=@^_", c) >= 0
}
