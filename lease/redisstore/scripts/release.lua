-- Deletes a lock that still holds our value, and tells those who wait for it.
-- KEYS[1] the lock
-- ARGV[1] our value, ARGV[2] the channel of the wake-up, ARGV[3] its origin
-- Replies 1 released, 0 gone, 2 taken (another value, or another type), or, when
-- the lock was released and the wake-up was refused, the text of that refusal.

local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] then
  redis.call('DEL', KEYS[1])
  -- A pcall: the right to publish may be missing, and the lock is gone already.
  local told = redis.pcall('PUBLISH', ARGV[2], ARGV[3])
  if type(told) == 'table' then
    return told.err
  end
  return 1
end
if not value then
  return 0
end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
  return value
end
return 2
