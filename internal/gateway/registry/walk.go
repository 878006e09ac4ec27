package registry

import (
	"encoding/json"
	"io"
)

const (
	maxDepth = 32
	// element stands in a path for a place in a list.
	element = "[]"
)

// walk reads JSON of any size in little memory. It calls each for every text, and ends for every end of an object, with the names that lead
// there. It returns where the page ends, or is none.
func walk(page io.Reader, each func(path []string, value string), ends func(path []string)) {
	in := json.NewDecoder(page)
	var path []string  // the names above, and the one whose value comes next
	var lists []bool   // what is open: a list, or an object
	wantsName := false // in an object
	done := func() {   // with a value
		if len(lists) == 0 {
			return
		}
		if lists[len(lists)-1] {
			return
		}
		path, wantsName = path[:len(path)-1], true
	}
	for {
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
