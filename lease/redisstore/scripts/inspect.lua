-- Looks at a lock.
-- KEYS[1] the lock
-- Replies 0 when it is free, otherwise {holder id, remaining ms or -1}.
-- Fails with WRONGTYPE when the key is no string.

local value = redis.call('GET', KEYS[1])
if not value then
  return 0
end
local slash = string.find(value, '/[^/]*$')
local holder = slash and string.sub(value, 1, math.min(slash - 1, 256)) or ''
return {holder, redis.call('PTTL', KEYS[1])}
