package delegation

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// plainNumbers gives every number inside an object its one type: int64 if it is whole and fits, otherwise float64. So a
// number keeps its value when the child's configuration is written from it.
func plainNumbers(object map[string]any) error {
	for name, value := range object {
		plain, err := plainValue(value)
		if err != nil {
			return err
		}
		object[name] = plain
	}
	return nil
}

func plainValue(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v)
	case map[string]any:
		return v, plainNumbers(v)
	case []any:
		for i := range v {
			plain, err := plainValue(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = plain
		}
	}
	return value, nil
}

func plainNumber(number json.Number) (any, error) {
	if n, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return n, nil
	}
	f, err := number.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is out of range", number)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f), nil
	}
	return f, nil
}
