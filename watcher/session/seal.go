package session

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"os"
)

// A whole bundle is sealed: behind it stand a digest, the agent's version, and the version's length in one byte. A power cut can leave less of
// a file than was written, or zeros in it, under the name that says that it is whole.

// seal seals the bundle of so many bytes that a file has, and sees it onto the disk.
func seal(file *os.File, size int64, version string) error {
	sum := sealOf(version)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, size)); err != nil {
		return err
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	about := append(append(sum.Sum(nil), version...), byte(len(version)))
	if _, err := file.WriteAt(about, size); err != nil {
		return err
	}
	return file.Sync()
}

// unseal takes a sealed bundle apart; ok is false where it is not what was sealed.
func unseal(data []byte) (bundle []byte, version string, ok bool) {
	if len(data) == 0 {
		return nil, "", false
	}
	about := sha256.Size + int(data[len(data)-1]) + 1
	if len(data) <= about {
		return nil, "", false
	}
	bundle, data = data[:len(data)-about], data[len(data)-about:len(data)-1]
	version = string(data[sha256.Size:])
	sum := sealOf(version)
	sum.Write(bundle)
	return bundle, version, bytes.Equal(sum.Sum(nil), data[:sha256.Size])
}

func sealOf(version string) hash.Hash {
	sum := sha256.New()
	sum.Write([]byte(version + "\n")) // no version has the end of a line
	return sum
}
