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

// Every test that docs/guarantees.md names is in the source tree, and every
// promise names one, or says that there is none.
func TestGuaranteesNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	require.NoError(t, err)
	known := testsBelow(t, ".")
	name := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*\b`)
	rows := 0
	for line := range strings.Lines(string(text)) {
		for _, n := range name.FindAllString(line, -1) {
			require.Contains(t, known, n, "in: %s", line)
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		require.Len(t, cells, 4, "a row has four cells: %s", line)
		require.Regexp(t, name.String()+"|no test", cells[3], "what shows it? %s", line)
		rows++
	}
	require.Greater(t, rows, 30)
}

// testsBelow is the set of the tests and fuzz targets in the *_test.go files
// below dir, modules within included.
func testsBelow(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	head := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range head.FindAllStringSubmatch(string(code), -1) {
			found[m[1]] = true
		}
		return err
	}))
	return found
}
