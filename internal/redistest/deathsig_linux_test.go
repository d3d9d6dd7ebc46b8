package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	conn, err := net.Dial("tcp", strings.TrimSpace(addr))
	require.NoError(t, err)
	defer conn.Close()

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it was killed")

	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server is still there")
}
