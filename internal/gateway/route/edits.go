package route

import "slices"

// edits are changes of an object's members, found by the folded key.
type edits []edit

// edit is a new value of a member. A nil value removes the member. If there is no such member, the value is added.
type edit struct {
	key   string
	value []byte
}

// apply writes the object with its changes. Without changes it returns the text as it is.
func (c edits) apply(o object) []byte {
	if len(c) == 0 {
		return o.text
	}
	news := map[string][]byte{} // the new values, by folded key
	for _, e := range slices.Backward(c) {
		news[fold(e.key)] = e.value
	}
	to := []byte{'{'}
	for _, m := range o.members {
		value, changed := news[m.folded]
		if !changed {
			value = o.text[m.begin:m.end]
		}
		if value != nil {
			to = appendMember(to, m.key, value)
		}
	}
	for _, e := range c {
		if o.find(e.key) == nil && e.value != nil {
			to = appendMember(to, e.key, e.value)
		}
	}
	return append(to, '}')
}

func appendMember(to []byte, key string, value []byte) []byte {
	if len(to) > 1 {
		to = append(to, ',')
	}
	to = append(append(append(to, '"'), key...), `":`...)
	return append(to, value...)
}

// array writes values as a JSON array.
func array(values [][]byte) []byte {
	to := []byte{'['}
	for i, v := range values {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, v...)
	}
	return append(to, ']')
}
