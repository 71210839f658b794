package redisline

import "github.com/redis/go-redis/v9"

// ScriptNames gives the scripts' names by their SHA-1, as SLOWLOG and MONITOR show them.
func ScriptNames() map[string]string {
	names := map[string]string{}
	for name, s := range map[string]*redis.Script{
		"join": joinScript, "touch": touchScript, "end": endScript, "step": stepScript, "switch": switchScript,
		"look": lookScript, "sample": sampleScript, "recall": recallScript, "mend": mendScript, "announce": announceScript, "nodes": nodesScript,
	} {
		names[s.Hash()] = name
	}
	return names
}
