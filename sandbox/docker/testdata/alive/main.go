// Alive says so, and what it finds itself in: it is the only program of a test's image, and, built for another
// architecture of the same processor, one whose system calls a sandbox does not have.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	fmt.Println("alive")
	for _, dir := range os.Args[1:] {
		fmt.Println(dir, os.WriteFile(dir+"/file", nil, 0o644) == nil)
	}
	if len(os.Args) > 1 {
		passwd, _ := os.ReadFile("/etc/passwd")
		hosts, _ := os.ReadFile("/etc/hosts")
		fmt.Println("agent", strings.HasPrefix(string(passwd), "agent:"), "sandbox", strings.Contains(string(hosts), "sandbox"))
		fmt.Println(strings.Join(os.Environ(), " "))
	}
}
