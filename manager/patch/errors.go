package patch

import (
	"errors"

	"torno/delegation"
)

// isLinked says whether a file was refused because it has several names.
func isLinked(err error) bool { return errors.Is(err, delegation.ErrLinked) }
