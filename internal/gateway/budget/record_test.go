package budget

import (
	"fmt"
	"hash/crc32"
)

// sealed is a line with its checksum.
func sealed(body []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body)
}
