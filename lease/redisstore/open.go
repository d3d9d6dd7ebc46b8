package redisstore

import (
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/actorlock/actorlock/lease"
)

// How the clients of an opened store are set up, where its URL does not say
// otherwise.
const (
	readTimeout = 3 * time.Second // of each send; contexts usually end sooner
	dialTimeout = 3 * time.Second
	renewalPool = 4 // connections for renewals: a few pipelines at a time
)

// Open makes a store with clients of its own, one of them for renewals alone,
// for a URL of the form redis://[user[:password]@]host[:port][/db][?option=…],
// rediss:// for TLS, or unix://[user[:password]@]/path[?db=…]. The options are
// those of redis.ParseURL. Nothing is sent: a server that cannot be reached is
// an error of the calls. Close the store at the end.
//
// A URL that cannot be used is a *lease.ConfigError, which does not repeat it.
func Open(rawURL string, opts ...Option) (*Store, error) {
	opt, err := options(rawURL)
	if err != nil {
		return nil, err
	}
	renewals := *opt
	renewals.PoolSize, renewals.PipelinePoolSize = renewalPool, renewalPool
	renewals.MinIdleConns, renewals.MaxIdleConns = 0, 0
	main, other := redis.NewClient(opt), redis.NewClient(&renewals)
	s := New(main, append([]Option{RenewWith(other)}, opts...)...)
	s.owned = []redis.UniversalClient{main, other}
	return s, nil
}

// options reads a URL. What the parsers say goes nowhere: their errors quote
// the URL, or parts of it, with the password.
func options(rawURL string) (*redis.Options, error) {
	refuse := func(reason string) (*redis.Options, error) {
		return nil, &lease.ConfigError{Field: "url", Reason: reason}
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return refuse("cannot be parsed (special characters in a password must be percent-encoded)")
	}
	switch u.Scheme {
	case "redis", "rediss", "unix":
	default:
		return refuse("does not begin with redis://, rediss:// or unix://")
	}
	opt, err := redis.ParseURL(rawURL)
	if err != nil {
		return refuse("has a database, a path or an option that is not understood")
	}
	opt.ContextTimeoutEnabled = true
	if opt.ReadTimeout == 0 {
		opt.ReadTimeout = readTimeout
	}
	if opt.DialTimeout == 0 {
		opt.DialTimeout = dialTimeout
	}
	opt.DialerRetries = 1 // a command is tried again as a whole
	// Those are about a hosted service; everywhere else they are one more
	// command, which fails, for each connection.
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opt, nil
}
