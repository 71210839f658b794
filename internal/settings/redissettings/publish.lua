-- publish.lua: put the settings of one database where all nodes find them.
-- KEYS[1]  settings  hash  version, owner, body
-- ARGV[1]  version   integer below 2^53
-- ARGV[2]  owner     id of the database
-- ARGV[3]  body      JSON
-- Returns  'put' | 'same' | 'older' (a newer one stays) | 'owner' (another database's stays)
-- Why a script: between reading the version and writing the body another node may publish a newer one.
local there = redis.call('HMGET', KEYS[1], 'version', 'owner')
if there[2] and there[2] ~= ARGV[2] then return 'owner' end
local version = tonumber(there[1] or '0')
if version == tonumber(ARGV[1]) then return 'same' end
if version > tonumber(ARGV[1]) then return 'older' end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'owner', ARGV[2], 'body', ARGV[3])
return 'put'
