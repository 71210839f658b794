package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// secretPrefix begins every secret, by Standard Webhooks.
const secretPrefix = "whsec_"

// secretBytes is the random part; Standard Webhooks take 24 to 64.
const secretBytes = 32

// NewSecret makes a secret as its receiver keeps it: whsec_ and base64.
func NewSecret() string {
	var b [secretBytes]byte
	rand.Read(b[:])
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// The headers of Standard Webhooks.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// sign sets the headers of one try of a message: its id, the instant of the try in unix seconds, and a signature with
// each secret over both and the very bytes of the body.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
func sign(h http.Header, id string, at time.Time, body []byte, secrets []string) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil {
			return fmt.Errorf("secret of a webhook: %w", err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, stamp)
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h.Set(headerID, id)
	h.Set(headerTimestamp, stamp)
	h.Set(headerSignature, strings.Join(signatures, " "))
	return nil
}
