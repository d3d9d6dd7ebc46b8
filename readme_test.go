package actorlock_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's Go code stands, line by line, in an Example, so that it is known
// to compile.
func TestReadmeCodeIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	compiled := flat(string(examples))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, compiled, flat(block[1]), "in no Example:\n%s", block[1])
	}
}

// flat drops indentation and empty lines, in which a README may differ.
func flat(code string) string {
	lines := []string{""}
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, ""), "\n")
}
