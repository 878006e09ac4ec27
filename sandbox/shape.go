package sandbox

import "errors"

// Shape is what a sandbox has of a Spec from its making on, and cannot get later. Two runs whose Specs have one shape can run in
// the same kind of sandbox: what differs between them, mounts, program, environment, files and time, comes when init holds.
type Shape struct {
	Profile string  `json:"profile"`
	RootFS  RootFS  `json:"rootfs"`
	Limits  Limits  `json:"limits"`
	Stdin   bool    `json:"stdin,omitempty"`
	Lasting bool    `json:"lasting,omitempty"`
	Places  []Place `json:"places"` // in the order in which the mounts name them
}

// Place is a path prefix of a sandbox, below which mounts arrive.
type Place struct {
	Prefix string `json:"prefix"`
	// Workspace says that the workspace itself arrives at the prefix. Otherwise mounts arrive below it.
	Workspace bool `json:"workspace,omitempty"`
}

// The reasons why no sandbox can be made ahead of a run.
var (
	ErrShapeImage   = errors.New("its system is an image, which may be another one by the time that the sandbox is used")
	ErrShapeSockets = errors.New("it has sockets or routes of the gateway, which a sandbox gets when it is made")
	ErrShapeContext = errors.New("a context, or programs, lie at a prefix itself, and whether it is a file is not known before")
)

// ShapeOf returns the shape of a Spec. The error says why a sandbox for it cannot be made ahead.
func ShapeOf(s Spec) (Shape, error) {
	switch {
	case !s.RootFS.Host:
		return Shape{}, ErrShapeImage
	case len(s.Sockets) > 0 || s.Door != nil:
		return Shape{}, ErrShapeSockets
	}
	shape := Shape{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Stdin: s.Process.Stdin, Lasting: s.Process.Lasting}
	for _, m := range s.Mounts {
		at := m.Target == m.Prefix
		if at && !m.Workspace {
			return Shape{}, ErrShapeContext
		}
		shape.add(Place{Prefix: m.Prefix, Workspace: at})
	}
	return shape, nil
}

func (s *Shape) add(place Place) {
	for i := range s.Places {
		if s.Places[i].Prefix == place.Prefix {
			s.Places[i].Workspace = s.Places[i].Workspace || place.Workspace
			return
		}
	}
	s.Places = append(s.Places, place)
}

// Spec is a Spec of the shape. Its mounts only say where mounts will arrive: they have no source.
func (s Shape) Spec() Spec {
	spec := Spec{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Process: Process{Stdin: s.Stdin, Lasting: s.Lasting}}
	for _, place := range s.Places {
		m := Mount{Target: place.Prefix + "/-", Prefix: place.Prefix, Workspace: place.Workspace}
		if place.Workspace {
			m.Target = place.Prefix
		}
		spec.Mounts = append(spec.Mounts, m)
	}
	return spec
}
