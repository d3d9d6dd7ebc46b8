package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	redis.SetLogger(&clientLog)
	goleak.VerifyTestMain(m)
}
