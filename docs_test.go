package actorlock_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that docs/guarantees.md names is where it is said to be, and every
// promise names one, or says that there is none.
func TestGuaranteesNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	require.NoError(t, err)
	known := testsBelow(t, ".")
	name := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*\b`)
	of := regexp.MustCompile(`^\s*(\w+): `)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		require.Len(t, cells, 4, "a row has four cells: %s", line)
		require.Regexp(t, name.String()+"|no test", cells[3], "what shows it? %s", line)
		rows++
		for part := range strings.SplitSeq(cells[3], ";") {
			dir := "actors_test"
			if m := of.FindStringSubmatch(part); m != nil {
				dir = m[1]
			}
			for _, n := range name.FindAllString(part, -1) {
				require.True(t, known[dir+"."+n], "%s in %s, in: %s", n, dir, line)
			}
		}
	}
	require.Greater(t, rows, 30)
}

// testsBelow is the set of the tests and fuzz targets in the *_test.go files
// below root, modules within included, each after the last part of its
// directory's name; those of the root itself are actorlock's.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	head := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.Base(filepath.Dir(path))
		if dir == root {
			dir = "actorlock"
		}
		code, err := os.ReadFile(path)
		for _, m := range head.FindAllStringSubmatch(string(code), -1) {
			found[dir+"."+m[1]] = true
		}
		return err
	}))
	return found
}
