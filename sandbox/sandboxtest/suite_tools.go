package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

var toolCases = []testCase{
	{"git commits", gitCommits},
	{"git reads a stranger's repository in the context", gitReadsContext},
	{"node runs", nodeRuns},
	{"files with attributes are copied", attributesCopied},
}

// installCases start many processes and write many files, which takes long. They do not depend on how or when a
// launcher mounts.
var installCases = []testCase{
	{"python makes a virtual environment", pythonVenv},
	{"npm installs a package of the workspace", npmInstalls},
}

// needs skips a case if its tool does not work in the sandbox.
func (b *bench) needs(try string) {
	b.Helper()
	if b.runs(b.script(try)).exit.Code != 0 {
		b.Skipf("%q fails in the sandbox: nothing was tried", try)
	}
}

// works runs a script in the workspace. It checks the last line of output, and that everything belongs to the owner.
func (b *bench) works(script, last string) {
	b.Helper()
	r := b.runs(b.script("set -e\n" + script))
	lines := strings.Split(strings.TrimSpace(string(r.stdout)), "\n")
	b.succeeds(r)
	b.same("the last line", []byte(lines[len(lines)-1]), last)
	if os.Geteuid() == 0 {
		b.owns(b.home, owner)
	}
}

func gitCommits(b *bench) {
	b.needs("git --version")
	b.works(`git init -q repository
		cd repository
		echo text >file
		git add file
		git commit -q -m "the first"
		git log --format=%s`, "the first")
}

func gitReadsContext(b *bench) {
	b.asRoot()
	b.needs("git --version")
	b.works(`git init -q . && echo text >file && git add file && git commit -q -m "by another" && echo done`, "done")
	const stranger = 4242
	repository := filepath.Join(b.dir, "repository")
	b.must(os.Rename(b.home, repository))
	b.must(filepath.WalkDir(repository, func(path string, _ os.DirEntry, err error) error {
		b.chown(path, stranger)
		return err
	}))
	b.mkdir("workspace", owner)
	spec := with(b.script("git -C /parent/repository log --format=%s"), b.context("repository", "/parent/repository", "/parent"))
	b.same("stdout", b.runs(spec).stdout, "by another\n")
}

func pythonVenv(b *bench) {
	b.needs(`python3 -c "import ensurepip"`)
	b.works(`python3 -m venv v
		v/bin/pip --version
		v/bin/python -c "import sys; print(sys.prefix)"`, "/workspace/v")
}

func nodeRuns(b *bench) {
	b.needs("node --version")
	b.works(`node -e "require('fs').writeFileSync('file', 'text'); console.log(6*7)"`, "42")
}

func npmInstalls(b *bench) {
	b.needs("npm --version")
	b.works(`mkdir pkg
		echo '{"name": "pkg", "version": "1.0.0", "main": "index.js"}' >pkg/package.json
		echo 'module.exports = "from the package"' >pkg/index.js
		echo '{"name": "app", "version": "1.0.0"}' >package.json
		npm install --offline --no-audit --no-fund ./pkg
		node -e "console.log(require('pkg'))"`, "from the package")
}

// attributesCopied has tools copy a file with attributes. The tools must go on although the attributes cannot be
// copied, as on a file system without attributes.
func attributesCopied(b *bench) {
	b.needs("python3 --version")
	planted := b.plant("planted", 0o644)
	if err := unix.Setxattr(planted, "user.torno", []byte("value"), 0); err != nil {
		b.Skipf("this file system has no attributes: %v", err)
	}
	b.chown(planted, owner)
	b.works(`cp -a planted copied
		cp --preserve=mode,timestamps planted preserved
		mv copied moved
		install -m 755 planted installed
		tar cf all.tar planted moved
		mkdir unpacked && tar xf all.tar -C unpacked
		mv planted "${TMPDIR:-/tmp}/elsewhere" && mv "${TMPDIR:-/tmp}/elsewhere" planted
		python3 -c "
import shutil, os
shutil.copy2('planted', 'again')
shutil.copytree('unpacked', 'tree')
shutil.move('again', '/tmp/again'); shutil.move('/tmp/again', 'again')
print(os.listxattr('moved'))"`, "[]")
}
