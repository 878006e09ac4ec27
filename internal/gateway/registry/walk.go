package registry

import (
	"encoding/json"
	"io"
)

const (
	maxDepth = 32
	maxToken = 256 << 10 // bytes of a text or a number
	maxName  = 256       // bytes of a name; no name that is looked for is longer
	// element stands for one place in a list, as a step of a path.
	element = "[]"
)

// walk reads JSON of any size in little memory. It calls each for every string, and ends at the end of every object,
// both with the path of names that leads there. It returns when the page ends, is not JSON, or has a longer text than
// maxToken.
func walk(page calm, each func(path []string, value string), ends func(path []string)) {
	left := &io.LimitedReader{R: page}
	in := json.NewDecoder(left)
	var path []string  // the names above, and the name whose value comes next
	var lists []bool   // true for each open list, false for each open object
	wantsName := false // the next string is a name in an object
	done := func() {   // after each value
		if len(lists) == 0 {
			return
		}
		if lists[len(lists)-1] {
			return
		}
		path, wantsName = path[:len(path)-1], true
	}
	for {
		left.N = maxToken
		token, err := in.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				if len(lists) == maxDepth {
					return
				}
				lists = append(lists, t == '[')
				wantsName = t == '{'
				if t == '[' {
					path = append(path, element)
				}
			case '}', ']':
				if t == '}' {
					ends(path)
				} else {
					path = path[:len(path)-1]
				}
				lists = lists[:len(lists)-1]
				wantsName = len(lists) > 0 && !lists[len(lists)-1]
				done()
			}
		case string:
			if wantsName {
				if len(t) > maxName {
					t = "" // so that many connections keep few bytes
				}
				path, wantsName = append(path, t), false
				continue
			}
			if len(path) > 0 {
				each(path, t)
			}
			done()
		default:
			done()
		}
	}
}
