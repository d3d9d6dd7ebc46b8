package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const connTimeout = 2 * time.Second

// The package's own commands, in a spelling that nobody else uses: Redis does
// not care, and a Monitor tells by it what to leave out.
const (
	cmdAuth    = "aUTH"
	cmdConfig  = "cONFIG"
	cmdEcho    = "eCHO"
	cmdInfo    = "iNFO"
	cmdMonitor = "mONITOR"
	cmdPing    = "pING"
)

// conn is the package's own connection to a server. A full client would add its
// handshake to the very counters that tests read here.
type conn struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to the server and logs in. The connection lasts for the limit.
func (s *Server) dial(limit time.Duration) (*conn, error) {
	nc, err := net.DialTimeout("tcp", s.Addr(), limit)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, r: bufio.NewReader(nc)}
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if s.cfg.password != "" {
		if _, err := c.do(cmdAuth, s.cfg.password); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// ask sends one command over a connection of its own.
func (s *Server) ask(args ...string) (string, error) {
	c, err := s.dial(connTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.do(args...)
}

// do sends one command and reads its reply, which must be a string or a number.
func (c *conn) do(args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return "", err
	}
	line, err := c.line()
	if err != nil {
		return "", err
	}
	if line == "" {
		return "", errors.New("redistest: empty reply")
	}
	switch rest := line[1:]; line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	case '$':
		return c.bulk(rest)
	}
	return "", fmt.Errorf("redistest: unexpected reply %q", line)
}

func (c *conn) bulk(size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return "", fmt.Errorf("redistest: unexpected size of a reply: %q", size)
	}
	text := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(c.r, text); err != nil {
		return "", err
	}
	return string(text[:n]), nil
}

func (c *conn) line() (string, error) {
	line, err := c.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
