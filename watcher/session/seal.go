package session

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"os"
)

// A whole bundle is sealed: a digest, the agent's version, and the length of the version in one byte follow it. The
// seal is needed because a power cut can shorten a file or leave zeros in it, although the file's name says that the
// bundle is whole.

// seal seals the bundle in the first size bytes of file, and flushes the file to the disk.
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

// unseal splits a sealed bundle; ok is false if the bundle is not as it was sealed.
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
	sum.Write([]byte(version + "\n")) // unambiguous, because no version contains the end of a line
	return sum
}
