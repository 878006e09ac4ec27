package inside

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// Plant starts a child that has in its environment the secret of the name "environment", and in its memory alone the one of the
// name "memory". end ends it.
func Plant(secrets []Secret) (end func() error, err error) {
	keeper := exec.Command("/proc/self/exe", "keep", "")
	for _, s := range secrets {
		switch s.Name {
		case "environment":
			keeper.Env = []string{"PLANTED=" + Unmask(s.Masked)}
		case "memory":
			keeper.Args[2] = hex.EncodeToString(s.Masked)
		}
	}
	ended, err := keeper.StdinPipe()
	if err != nil {
		return nil, err
	}
	says, err := keeper.StdoutPipe()
	if err != nil {
		return nil, err
	}
	keeper.Stderr = os.Stderr
	if err := keeper.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(says).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the child that is to have secrets: %w", err)
	}
	return func() error {
		ended.Close() // it ends by that
		return keeper.Wait()
	}, nil
}

// Keep has a masked secret in memory, says so, and stays until its standard input ends.
func Keep(masked string) error {
	secret, err := hex.DecodeString(masked)
	if err != nil {
		return err
	}
	kept := Unmask(secret)
	if _, err := fmt.Println("kept"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(&kept)
	return err
}
