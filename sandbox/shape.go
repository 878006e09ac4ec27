package sandbox

import (
	"cmp"
	"errors"
)

// Shape is what a sandbox has of a Spec from its making on, and cannot get later. Two runs whose Specs have one shape can run in
// the same kind of sandbox: what differs between them, mounts, program, environment, files and time, comes when init holds.
type Shape struct {
	Profile string  `json:"profile"`
	RootFS  RootFS  `json:"rootfs"`
	Limits  Limits  `json:"limits"`
	Stdin   bool    `json:"stdin,omitempty"`
	Lasting bool    `json:"lasting,omitempty"`
	Places  []Place `json:"places"` // in the order in which the mounts name them
	// Sockets are where sockets arrive, the door of the gateway among them. Which ones, and which ports lead to them, comes with the run.
	Sockets []Socket `json:"sockets,omitempty"`
}

// Place is a path prefix of a sandbox, below which mounts arrive.
type Place struct {
	Prefix string `json:"prefix"`
	// At says that something arrives at the prefix itself: the workspace, a context, or the Programs that are there on the host. What is no
	// program is expected to be a directory.
	At        bool   `json:"at,omitempty"`
	Programs  string `json:"programs,omitempty"`
	Workspace bool   `json:"workspace,omitempty"` // the workspace arrives here, at the prefix or below it
}

// ErrShapeImage is why no sandbox can be made ahead of a run.
var ErrShapeImage = errors.New("its system is an image, which may be another one by the time that the sandbox is used")

// ShapeOf returns the shape of a Spec. The error says why a sandbox for it cannot be made ahead.
func ShapeOf(s Spec) (Shape, error) {
	if !s.RootFS.Host {
		return Shape{}, ErrShapeImage
	}
	shape := Shape{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Stdin: s.Process.Stdin, Lasting: s.Process.Lasting}
	for _, m := range s.Mounts {
		place := Place{Prefix: m.Prefix, At: m.Target == m.Prefix, Workspace: m.Workspace}
		if place.At && m.Programs {
			place.Programs = m.Source.Base
		}
		shape.add(place)
	}
	shape.Sockets = s.socketPlaces()
	return shape, nil
}

// socketPlaces are where sockets arrive. The door's comes when the gateway has opened one, behind the profile's.
func (s Spec) socketPlaces() (all []Socket) {
	open := false
	for _, socket := range s.Sockets {
		all = append(all, Socket{Target: socket.Target, Lasting: socket.Lasting})
		open = open || socket.Target == DoorSocket
	}
	if s.Door != nil && !open {
		all = append(all, Socket{Target: DoorSocket, Lasting: true})
	}
	return all
}

func (s *Shape) add(place Place) {
	for i := range s.Places {
		if s.Places[i].Prefix == place.Prefix {
			s.Places[i].At, s.Places[i].Workspace = s.Places[i].At || place.At, s.Places[i].Workspace || place.Workspace
			s.Places[i].Programs = cmp.Or(s.Places[i].Programs, place.Programs)
			return
		}
	}
	s.Places = append(s.Places, place)
}

// Spec is a Spec of the shape. Its mounts and sockets only say where they will arrive: they have no source.
func (s Shape) Spec() Spec {
	spec := Spec{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Process: Process{Stdin: s.Stdin, Lasting: s.Lasting}, Sockets: s.Sockets}
	for _, place := range s.Places {
		m := Mount{Target: place.Prefix + "/-", Prefix: place.Prefix, Workspace: place.Workspace}
		if place.At {
			m.Target = place.Prefix
		}
		if place.Programs != "" {
			m.Programs, m.Source = true, Source{Base: place.Programs, Rel: "."}
		}
		spec.Mounts = append(spec.Mounts, m)
	}
	return spec
}
