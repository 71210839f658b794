// A client of the visitor API of Sluice, for browsers, apps and servers that run JavaScript. One file, no dependency: copy
// it. It keeps what says who asks (visitor token, tickets, passes) and sends it along.

export type Action = 'pass' | 'wait' | 'reject';

export type Reason =
  | 'queue_off' | 'pass_valid' | 'admitted' | 'grace' | 'bypass' | 'store_down'
  | 'queue_on' | 'prequeue' | 'paused' | 'queue_full' | 'closed' | 'not_invited' | 'blocked';

export interface Answer {
  item: string;
  action: Action;
  reason: Reason;
  visitor: string;
  queue: { state: 'off' | 'prequeue' | 'open' | 'paused' | 'closed'; generation: number; waiting: number };
  /** With action "wait". */
  place: Place | null;
  /** With reasons "admitted", "pass_valid" and "grace". */
  pass: Pass | null;
  /** With action "reject": when asking again makes sense, ms; null = never. */
  retry_after_ms: number | null;
}

export interface Place {
  ticket: string | null;
  /** 1 = next; null where it is not shown. */
  position: number | null;
  /** false: an estimate, within 1 %, at most 1 s old. */
  exact: boolean;
  joined_at: string | null;
  /** null where nobody is let in. */
  eta_seconds: number | null;
  eta_low_seconds: number | null;
  eta_high_seconds: number | null;
  /** In a prequeue: when the line starts to move. */
  opens_at: string | null;
  /** Ask again no sooner, ms. */
  poll_after_ms: number;
  wait_url: string;
}

export interface Pass {
  /** An EdDSA JWT. */
  token: string;
  expires_at: string;
}

export type Renewal = Pass | { error: 'expired' | 'ended' | 'invalid' };

/** An answer that is a problem (RFC 9457). */
export class SluiceError extends Error {
  readonly status: number;
  /** A stable machine-readable word, such as "no_place". */
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.name = 'SluiceError';
    this.status = status;
    this.code = code;
  }
}

/** Who asks: what to keep of a visitor between two runs of a program. All of it is signed and of use to nobody else. */
export interface Identity {
  visitor?: string;
  tickets?: Record<string, string>;
  passes?: Record<string, string>;
}

export interface Options {
  /** Where Sluice is: https://queue.example. */
  url: string;
  /** What was kept of a visitor; a new one is made without it. */
  identity?: Identity;
  /** A server that asks for its own user names the user, and shows its service token. */
  user?: { id: string; serviceToken: string };
  /** In place of the global fetch. */
  fetch?: typeof globalThis.fetch;
}

export class Sluice {
  readonly #url: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #user?: { id: string; serviceToken: string };
  #visitor?: string;
  readonly #tickets: Map<string, string>;
  readonly #passes: Map<string, string>;

  constructor(options: Options) {
    this.#url = options.url.replace(/\/+$/, '');
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#user = options.user;
    this.#visitor = options.identity?.visitor;
    this.#tickets = new Map(Object.entries(options.identity?.tickets ?? {}));
    this.#passes = new Map(Object.entries(options.identity?.passes ?? {}));
  }

  /** What to keep of this visitor. */
  get identity(): Identity {
    return { visitor: this.#visitor, tickets: Object.fromEntries(this.#tickets), passes: Object.fromEntries(this.#passes) };
  }

  /** May this visitor open the item? Counts as traffic of the item and takes a place where there is a queue. */
  check(item: string, how: { returnTo?: string; signal?: AbortSignal } = {}): Promise<Answer> {
    return this.#ask(item, 'check', how.returnTo, how.signal);
  }

  /** Where does this visitor stand? Counts nothing and takes no place: SluiceError "no_place" where there is none. */
  status(item: string, how: { returnTo?: string; signal?: AbortSignal } = {}): Promise<Answer> {
    return this.#ask(item, 'status', how.returnTo, how.signal);
  }

  /**
   * Checks, and polls as told until the answer is no longer "wait"; gives that answer. update hears of every answer.
   * What fails on the way (no network, a server that restarts) is tried again: only a visitor without a place ends it.
   */
  async wait(item: string, how: { returnTo?: string; signal?: AbortSignal; update?: (answer: Answer) => void } = {}): Promise<Answer> {
    let answer = await this.check(item, how);
    how.update?.(answer);
    let failures = 0;
    while (answer.action === 'wait') {
      await pause(failures ? Math.min(30_000, 1000 * 2 ** failures) : answer.place?.poll_after_ms ?? 5000, how.signal);
      try {
        answer = await this.status(item, how);
        failures = 0;
      } catch (error) {
        if (how.signal?.aborted || (error instanceof SluiceError && error.status < 500 && error.status !== 429)) throw error;
        failures++;
        continue;
      }
      how.update?.(answer);
    }
    return answer;
  }

  /** Leaves the line. */
  async leave(item: string): Promise<void> {
    await this.#call(item, 'place', 'DELETE');
    this.#tickets.delete(item);
  }

  /** Ends the visit early, once the order is placed: the slot is free at once. */
  async finish(item: string): Promise<void> {
    await this.#call(item, 'finish', 'POST');
    this.#passes.delete(item);
  }

  /** Renews passes, for origins that verify them offline; at most 100, answered in the same order. */
  async renew(passes: string[]): Promise<Renewal[]> {
    const response = await this.#fetch(this.#url + '/v1/passes/renew', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ passes }),
    });
    if (!response.ok) throw await problem(response);
    return ((await response.json()) as { passes: Renewal[] }).passes;
  }

  async #ask(item: string, question: string, returnTo?: string, signal?: AbortSignal): Promise<Answer> {
    const response = await this.#call(item, question, 'GET', returnTo, signal);
    const answer = (await response.json()) as Answer;
    this.#visitor = answer.visitor;
    if (answer.place?.ticket) this.#tickets.set(item, answer.place.ticket);
    if (answer.pass) {
      this.#passes.set(item, answer.pass.token);
      this.#tickets.delete(item);
    }
    return answer;
  }

  async #call(item: string, what: string, method: string, returnTo?: string, signal?: AbortSignal): Promise<Response> {
    const address = new URL(`${this.#url}/v1/items/${encodeURIComponent(item)}/${what}`);
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (returnTo !== undefined) address.searchParams.set('return', returnTo);
    if (this.#user) {
      address.searchParams.set('user', this.#user.id);
      headers['Authorization'] = `Bearer ${this.#user.serviceToken}`;
    }
    if (this.#visitor) headers['Sluice-Visitor'] = this.#visitor;
    const ticket = this.#tickets.get(item);
    if (ticket) headers['Sluice-Ticket'] = ticket;
    const pass = this.#passes.get(item);
    if (pass) headers['Sluice-Pass'] = pass;
    const response = await this.#fetch(address, { method, headers, signal });
    if (!response.ok) throw await problem(response);
    return response;
  }
}

async function problem(response: Response): Promise<SluiceError> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  return new SluiceError(response.status, body.code ?? 'unknown', body.detail ?? `Sluice answers ${response.status}`);
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
