package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"

	"torno/delegation"
	"torno/sandbox"
)

var mountCases = []testCase{
	{"the workspace can be written", workspaceWritable},
	{"context can be read and not written", contextReadOnly},
	{"a context that is a file", contextFile},
	{"a workspace in a context can be written", workspaceInContext},
	{"a workspace that is none is refused", workspaceRefused},
	{"a context that is none is refused", contextRefused},
	{"the host's files are found", filesFound},
	{"the answer is what stdout said", answerFromStdout},
	{"the answer has a bound", answerBounded},
	{"the agent's own answer stays", answerOfTheAgent},
	{"an answer of an earlier run is not this run's", staleAnswer},
	{"a link in the answer's place leads nowhere", plantedAnswer},
}

func workspaceWritable(b *bench) {
	b.put("workspace/in", "from the host\n")
	b.same("stdout", b.runs(b.spec("show", "in")).stdout, "from the host\n")
	b.exits(b.runs(b.spec("write", "/workspace/out", "from the agent")).exit, 0)
	b.same("out", []byte(b.get("workspace/out")), "from the agent\n")
}

// context returns a read-only mount of a place in the case's directory.
func (b *bench) context(rel, target, prefix string) sandbox.Mount {
	return sandbox.Mount{Source: b.source(rel), Target: target, Prefix: prefix}
}

// with puts mounts before the workspace.
func with(spec sandbox.Spec, outer ...sandbox.Mount) sandbox.Spec {
	spec.Mounts = append(outer, spec.Mounts...)
	return spec
}

func contextReadOnly(b *bench) {
	b.mkdir("notes", owner)
	b.put("notes/note", "read me\n")
	mount := b.context("notes", "/parent/notes", "/parent")
	b.same("stdout", b.runs(with(b.spec("show", "/parent/notes/note"), mount)).stdout, "read me\n")
	for _, name := range []string{"/parent/notes/note", "/parent/notes/new", "/parent/new"} {
		if e := b.runs(with(b.spec("write", name, "changed"), mount)).exit; e.Code == 0 {
			b.Errorf("%s could be written", name)
		}
	}
	b.same("note", []byte(b.get("notes/note")), "read me\n")
}

func contextFile(b *bench) {
	b.put("note", "read me\n")
	b.put("secret", "not me\n")
	mount := b.context("note", "/parent/note", "/parent")
	b.same("stdout", b.runs(with(b.spec("show", "/parent/note"), mount)).stdout, "read me\n")
	if e := b.runs(with(b.spec("write", "/parent/note", "changed"), mount)).exit; e.Code == 0 {
		b.Error("the file could be written")
	}
	if e := b.runs(with(b.spec("show", "/parent/secret"), mount)).exit; e.Code == 0 {
		b.Error("its neighbour could be read")
	}
}

func workspaceInContext(b *bench) {
	b.mkdir("parent", owner)
	b.mkdir("parent/work", owner)
	b.put("parent/note", "read me\n")
	inside := func(name string, args ...string) sandbox.Spec {
		spec := with(b.spec(name, args...), b.context("parent", "/parent/base", "/parent"))
		work := &spec.Mounts[len(spec.Mounts)-1]
		work.Source, work.Target, work.Prefix = b.source("parent/work"), "/parent/base/work", "/parent"
		spec.Process.Dir = work.Target
		return spec
	}
	b.same("stdout", b.runs(inside("show", "../note")).stdout, "read me\n")
	b.exits(b.runs(inside("write", "out", "from the agent")).exit, 0)
	b.same("out", []byte(b.get("parent/work/out")), "from the agent\n")
	if e := b.runs(inside("write", "/parent/base/new", "changed")).exit; e.Code == 0 {
		b.Error("the context around the workspace could be written")
	}
}

func workspaceRefused(b *bench) {
	b.put("file", "")
	b.must(os.Symlink(b.home, filepath.Join(b.dir, "link")))
	b.mkdir("workspace/inner", owner)
	for _, rel := range []string{"missing", "file", "link", "link/inner", "file/inner"} {
		spec := b.spec("exit", "0")
		spec.Mounts[0].Source = b.source(rel)
		b.refused(spec, delegation.CodeWorkspace)
	}
}

func contextRefused(b *bench) {
	b.put("note", "")
	b.must(os.Symlink("note", filepath.Join(b.dir, "link")))
	for _, rel := range []string{"missing", "link"} {
		b.refused(with(b.spec("exit", "0"), b.context(rel, "/parent/note", "/parent")), delegation.CodeContext)
	}
}

func filesFound(b *bench) {
	text := long(1 * mib)
	spec := b.spec("show", sandbox.RunDir+"/task.txt")
	spec.Files = []sandbox.File{{Name: "task.txt", Content: []byte(text)}, {Name: "empty", Content: nil}}
	b.same("stdout", b.runs(spec).stdout, text)
	spec.Process.Argv = b.spec("write", sandbox.RunDir+"/task.txt", "changed").Process.Argv
	if e := b.runs(spec).exit; e.Code == 0 {
		b.Error("the host's file could be written")
	}
}

func answerFromStdout(b *bench) {
	spec := b.spec("both", "50")
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt", FromStdout: true, Max: mib}
	r := b.runs(spec)
	b.same("stdout", r.stdout, numbered(50, ""))
	b.same("the answer", []byte(b.get("workspace/answer.txt")), numbered(50, ""))
}

func answerBounded(b *bench) {
	spec := b.spec("lines", "1000", "0")
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt", FromStdout: true, Max: 1000}
	r := b.runs(spec)
	b.succeeds(r)
	b.same("stdout", r.stdout, numbered(1000, ""))
	if answer := b.get("workspace/answer.txt"); len(answer) > 1000 || !strings.HasPrefix(answer, numbered(100, "")) {
		b.Errorf("the answer has %d bytes and begins with %.80q", len(answer), answer)
	}
	b.same("the whole of it", []byte(b.get("workspace/answer.txt.whole")), numbered(1000, ""))
}

func answerOfTheAgent(b *bench) {
	spec := b.spec("write", "/workspace/answer.txt", "mine")
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt", FromStdout: true, Max: mib}
	b.exits(b.runs(spec).exit, 0)
	b.same("the answer", []byte(b.get("workspace/answer.txt")), "mine\n")
}

func staleAnswer(b *bench) {
	b.put("workspace/answer.txt", "of an earlier run\n")
	spec := b.spec("exit", "0")
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt"}
	b.exits(b.runs(spec).exit, 0)
	if content, err := os.ReadFile(filepath.Join(b.home, "answer.txt")); !os.IsNotExist(err) {
		b.Errorf("the answer file says %q (%v), which this run did not", content, err)
	}
}

func plantedAnswer(b *bench) {
	b.put("secret", "keep this\n")
	b.must(os.Symlink("../secret", filepath.Join(b.home, "answer.txt")))
	spec := b.spec("echo", "the answer")
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt", FromStdout: true, Max: mib}
	b.exits(b.runs(spec).exit, 0)
	b.same("the answer", []byte(b.get("workspace/answer.txt")), "the answer\n")
	b.same("what the link led to", []byte(b.get("secret")), "keep this\n")
}
