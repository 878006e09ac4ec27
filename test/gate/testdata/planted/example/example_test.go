package example

import "fmt"

func Example() {
	n, done := 0, make(chan struct{})
	go func() { n++; close(done) }()
	n++
	<-done
	fmt.Println("races, and nothing looks")
	// Output: races, and nothing looks
}
