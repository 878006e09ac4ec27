// Command sbom prints what is in the programs of a directory, as CycloneDX 1.5: the modules that Go has noted in each of them,
// with their sums, and the programs with their own.
//
//	go run ./scripts/sbom VERSION DIRECTORY
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
)

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom VERSION DIRECTORY")
		os.Exit(2)
	}
	doc, err := describe(os.Args[1], os.Args[2])
	if err == nil {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		err = out.Encode(doc)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// describe goes through the programs in the order of their names.
func describe(version, dir string) (document, error) {
	doc := document{Format: "CycloneDX", Spec: "1.5", Version: 1}
	doc.Metadata.Component = component{Type: "application", Ref: "torno", Name: "torno", Version: version}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return doc, err
	}
	modules := map[string]component{}
	for _, entry := range entries {
		program, uses, err := read(filepath.Join(dir, entry.Name()), version)
		if err != nil {
			return doc, err
		}
		doc.Components = append(doc.Components, program)
		on := dependency{Ref: program.Ref}
		for _, m := range uses {
			modules[m.Ref] = m
			on.On = append(on.On, m.Ref)
		}
		slices.Sort(on.On)
		doc.Dependencies = append(doc.Dependencies, on)
	}
	if len(doc.Components) == 0 {
		return doc, errors.New("there is no program in " + dir)
	}
	var all []component
	for _, m := range modules {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	doc.Components = append(doc.Components, all...)
	return doc, nil
}

// read is a program and the modules in it.
func read(path, version string) (program component, uses []component, err error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program, nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return program, nil, err
	}
	sum := sha256.Sum256(data)
	name := filepath.Base(path)
	program = component{Type: "application", Ref: "program:" + name, Name: name, Version: version, Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	uses = append(uses, module("stdlib", info.GoVersion, ""))
	for _, dep := range info.Deps {
		uses = append(uses, moduleOf(dep))
	}
	return program, uses, nil
}

func moduleOf(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return module(m.Path, m.Version, m.Sum)
}

// module keeps Go's own sum as it stands in go.sum.
func module(path, version, sum string) component {
	url := "pkg:golang/" + path + "@" + version
	c := component{Type: "library", Ref: url, Name: path, Version: version, URL: url}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
