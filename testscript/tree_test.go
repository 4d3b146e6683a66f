package testscript

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxFileLines     = 300
	maxFunctionLines = 60
	maxComplexity    = 15
)

// sources calls check with each Go file of the module, parsed.
func sources(t *testing.T, check func(path string, text []byte, positions *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, text, parser.ParseComments)
		if err == nil {
			check(strings.TrimPrefix(path, "../"), text, positions, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSizes keeps files and functions small enough to be read in one go. Tests of a package may be longer: a table has
// as many lines as it has cases.
func TestSizes(t *testing.T) {
	sources(t, func(path string, text []byte, positions *token.FileSet, file *ast.File) {
		isTest := strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "testscript/")
		if n := bytes.Count(text, []byte("\n")); n >= maxFileLines && !isTest {
			t.Errorf("%s has %d lines: move what a reader looks for elsewhere into a file of its own, below %d", path, n, maxFileLines)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || isTest {
				continue
			}
			from, to := positions.Position(fn.Pos()), positions.Position(fn.End())
			where := fmt.Sprintf("%s:%d: %s", path, from.Line, declName(fn))
			if n := to.Line - from.Line + 1; n >= maxFunctionLines {
				t.Errorf("%s has %d lines: name its steps and move them out, below %d", where, n, maxFunctionLines)
			}
			if n := complexity(fn); n > maxComplexity && !strings.Contains(fn.Doc.Text(), "complexity: ") {
				t.Errorf("%s has a cyclomatic complexity of %d: split it, or give the reason in its comment, as %q", where, n, "complexity: one case a flag")
			}
		}
	})
}

// complexity is one more than the places where a function can go two ways.
func complexity(fn *ast.FuncDecl) int {
	n := 1
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			n += min(1, len(node.List)) // none: default
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// declName is a function's name, a method's with its type: Type.Method.
func declName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return fmt.Sprint(of, ".", fn.Name.Name)
}

var namedPlace = regexp.MustCompile("`((?:[\\w.-]+/)+[\\w.-]+)(?::([\\w.]+))?`")

// TestArchitectureNames holds docs/architecture.md to the tree: a file in back-quotes, `host/run.go`, is there, and so
// is the name behind it, `host/run.go:Run` or `host/run.go:Host.start`.
func TestArchitectureNames(t *testing.T) {
	known := map[string]bool{}
	sources(t, func(path string, _ []byte, _ *token.FileSet, file *ast.File) {
		known[path] = true
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				known[path+":"+declName(d)] = true
				known[path+":"+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						known[path+":"+spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							known[path+":"+name.Name] = true
						}
					}
				}
			}
		}
	})
	for _, m := range namedPlace.FindAllStringSubmatch(readFile(t, "../docs/architecture.md"), -1) {
		place := strings.Trim(m[0], "`")
		if strings.HasSuffix(m[1], ".go") && !known[place] {
			t.Errorf("docs/architecture.md names `%s`, which the tree does not have", place)
		}
	}
}

var (
	redWhen    = regexp.MustCompile(`(?m)^# red when: (.*)$`)
	camelWord  = regexp.MustCompile(`\b[A-Za-z][a-z]+(?:[A-Z][A-Za-z]*)+\b`)
	identifier = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
)

// TestRedWhen holds what scripts say of themselves to the tree: each says what turns it red, and a name in that line,
// such as closeInherited, is one that the code has.
func TestRedWhen(t *testing.T) {
	known := map[string]bool{}
	sources(t, func(path string, text []byte, _ *token.FileSet, _ *ast.File) {
		if strings.HasPrefix(path, "testscript/") {
			return
		}
		for _, name := range identifier.FindAllString(string(text), -1) {
			known[name] = true
		}
	})
	paths, err := filepath.Glob("rules/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text := readFile(t, path)
		if !strings.HasPrefix(text, "# red when: ") {
			t.Errorf("%s does not say in its first line what turns it red", path)
		}
		said := redWhen.FindAllStringSubmatch(text, -1)
		for _, m := range said {
			for _, name := range camelWord.FindAllString(m[1], -1) {
				if !known[name] {
					t.Errorf("%s: red when: the code has no %s", path, name)
				}
			}
		}
	}
}
