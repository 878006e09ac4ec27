package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// home is where the agent lives: a container, or where there is no engine a sandbox of gVisor.
type home interface {
	// live runs the agent to its end.
	live(ctx context.Context, told, complaints io.Writer) (code int, err error)
	// leave removes all that was made for it.
	leave(context.Context) error
}

// runParent runs the agent and checks what it tells.
func (s *stage) runParent(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told, tell := io.Pipe()
	var complaints strings.Builder
	var code int
	ended := make(chan error, 1)
	go func() {
		var err error
		code, err = s.home.live(ctx, tell, &complaints)
		tell.CloseWithError(err)
		ended <- err
	}()
	wrong := s.listen(told)
	if wrong != nil {
		stop() // later words are not read
	}
	told.Close()
	err := <-ended
	if err == nil && code != 0 {
		err = fmt.Errorf("the agent ended with %d: %s", code, strings.TrimSpace(complaints.String()))
	}
	return errors.Join(err, wrong)
}

// listen reads what the parent tells, shows it, and says what is not as it has to be.
func (s *stage) listen(told io.Reader) error {
	parts := s.parts
	var wrong error
	for lines := bufio.NewScanner(told); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("the parent says %q: %w", lines.Text(), err)
		}
		if l.Cage != nil {
			s.cage(*l.Cage)
			wrong = errors.Join(wrong, l.Cage.judge())
		}
		if l.Ending != nil {
			i := slices.IndexFunc(parts, func(p part) bool { return p.child == l.Ending.Child })
			if i < 0 {
				return fmt.Errorf("nobody is called %q", l.Ending.Child)
			}
			s.ending(parts[i], *l.Ending)
			s.endings = append(s.endings, *l.Ending)
			wrong = errors.Join(wrong, parts[i].judge(*l.Ending))
		}
	}
	if len(s.endings) != len(parts) {
		wrong = errors.Join(wrong, fmt.Errorf("%d of %d children came to an end", len(s.endings), len(parts)))
	}
	return wrong
}
