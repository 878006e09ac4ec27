package inside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Send sends a request over a connection of its own, and writes the answer as it came, with its head, into a file of its name.
// rest is the connection, where that is still open.
func (a Ask) Send(url, dir string) (rest io.Closer, err error) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	answer, err := os.Create(filepath.Join(dir, a.Name))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	defer answer.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		a.Path, host, len(a.Body), a.Body)
	if err == nil {
		err = a.receive(conn, answer)
	}
	if err != nil || a.Until == "" {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (a Ask) receive(conn io.Reader, to io.Writer) error {
	if a.Until == "" {
		_, err := io.Copy(to, conn)
		return err
	}
	var seen bytes.Buffer
	for part := make([]byte, 4096); !strings.Contains(seen.String(), a.Until); {
		n, err := conn.Read(part)
		if err != nil {
			return fmt.Errorf("before %q came: %w", a.Until, err)
		}
		seen.Write(part[:n])
	}
	_, err := to.Write(seen.Bytes())
	return err
}
