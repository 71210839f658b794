-- nodes.lua: a node says that it lives, and learns who else does and whether this is still the store it knew.
-- KEYS[1]  zset    node -> instant of the last sign of life, ms
-- KEYS[2]  string  identity of the store: gone after a total loss
-- KEYS[3]  string  fingerprint of the secret key that all nodes share
-- ARGV[1]  node         its id; '' = only look
-- ARGV[2]  identity     to take where the store has none
-- ARGV[3]  fingerprint  of this node's key
-- ARGV[4]  alive_ms     how long a sign of life holds
-- Returns  {identity, fingerprint, now_ms, living nodes}
-- Cost     O(n log n): n nodes
-- Why one script: the store's clock, one for all nodes, judges who lives.

local t = redis.call('TIME')
local now_ms = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local function text(n) return string.format('%.0f', n) end
redis.call('SET', KEYS[2], ARGV[2], 'NX')
redis.call('SET', KEYS[3], ARGV[3], 'NX')
if ARGV[1] ~= '' then redis.call('ZADD', KEYS[1], text(now_ms), ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now_ms - 60000))
-- By a clock that has been set back, a sign of life is still to come: whoever lives gives another one soon.
redis.call('ZREMRANGEBYSCORE', KEYS[1], text(now_ms + 1000), '+inf')
local living = redis.call('ZRANGEBYSCORE', KEYS[1], text(now_ms - tonumber(ARGV[4])), '+inf')
return { redis.call('GET', KEYS[2]), redis.call('GET', KEYS[3]), text(now_ms), living }
