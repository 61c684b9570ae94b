import { type Clock, systemClock } from '../core/index.ts'
import { describeFiring, shortTime } from './describe-verdict.ts'
import type { Incident } from './incidents.ts'

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'

/** The body for a Slack incoming webhook. */
export function slackMessage(incident: Incident): object {
  const title = titleOf(incident)
  const lines = incident.firings.map((firing) => `• ${describeFiring(firing)}`)
  return {
    text: title,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title } },
      { type: 'section', text: { type: 'mrkdwn', text: lines.join('\n') } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: `\`${incident.id}\` · ${spanOf(incident)}` }] },
    ],
  }
}

/** The body for PagerDuty's Events API v2. All of an incident's events share its `dedup_key`. */
export function pagerDutyEvent(incident: Incident, routingKey: string): object {
  const about = { routing_key: routingKey, dedup_key: `holdfast-${incident.id}` }
  if (incident.until !== null) return { ...about, event_action: 'resolve' }
  return {
    ...about,
    event_action: 'trigger',
    payload: {
      summary: titleOf(incident),
      source: 'holdfast',
      severity: 'critical',
      timestamp: incident.since,
      component: 'locks',
      class: 'rollback_required',
      custom_details: { incident: incident.id, reasons: incident.firings.map(describeFiring) },
    },
  }
}

function titleOf({ until }: Incident): string {
  return until === null ? 'Locks: rollback required' : 'Locks: the incident is over'
}

function spanOf({ since, until }: Incident): string {
  return until === null ? `since ${shortTime(since)}` : `${shortTime(since)} to ${shortTime(until)}`
}

export interface PostOptions {
  readonly fetch?: typeof fetch
  readonly clock?: Clock
  /** How often in all. Default 4. */
  readonly attempts?: number
  /** Milliseconds for each attempt. Default 10 000. */
  readonly timeout?: number
}

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000

/** Posts JSON; what may pass (no connection, 429, 5xx) is tried again, later each time. */
export async function postJson(url: string, body: object, options: PostOptions = {}): Promise<void> {
  const { fetch: send = fetch, clock = systemClock, attempts = 4, timeout = 10_000 } = options
  for (let attempt = 1; ; attempt++) {
    const outcome = await post(send, url, body, timeout)
    if (outcome === 'done') return
    if (!outcome.mayPass || attempt >= attempts) throw new Error(`${new URL(url).host}: ${outcome.problem}`)
    const pause = Math.min(MAX_PAUSE_MS, outcome.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (attempt - 1))
    await new Promise<void>((resolve) => clock.setTimer(resolve, pause))
  }
}

interface Failure {
  readonly problem: string
  readonly mayPass: boolean
  readonly retryAfterMs?: number
}

async function post(
  send: typeof fetch,
  url: string,
  body: object,
  timeout: number,
): Promise<'done' | Failure> {
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    })
    await response.body?.cancel()
    if (response.ok) return 'done'
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    return {
      problem: `status ${response.status}`,
      mayPass: response.status === 429 || response.status >= 500,
      ...(retryAfter >= 0 && { retryAfterMs: retryAfter * 1000 }),
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error), mayPass: true }
  }
}
