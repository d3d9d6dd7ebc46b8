-- Sets the remaining time of a lock that still holds our value.
-- KEYS[1] the lock
-- ARGV[1] our value, ARGV[2] the time to live in ms
-- Replies 1 extended, 0 gone, 2 taken (another value, or another type).

local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if not value then
  return 0
end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
  return value
end
return 2
