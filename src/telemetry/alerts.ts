/** Alerts about incidents for Slack and PagerDuty, and the request that delivers them. */
import {
  expectFunction,
  expectMethods,
  expectObject,
  expectOptions,
  expectWhole,
  refuseClient,
} from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { expectIncident, type Incident } from './health.ts'
import { describeFiring, describeSpan } from './health-text.ts'
import {
  ALERT_ATTEMPTS,
  ALERT_PAUSE_MS,
  ALERT_TIMEOUT_MS,
  LONGEST_ALERT_PAUSE_MS,
  type PostOptions,
} from './options.ts'

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'

/**
 * The body for a Slack incoming webhook.
 *
 * @example
 * await fetch(webhookUrl, { method: 'POST', body: JSON.stringify(slackMessage(incident)) })
 */
export function slackMessage(incident: Incident): object {
  expectIncident('incident', incident)
  const title = titleOf(incident)
  const lines = incident.firings.map((firing) => `• ${describeFiring(firing)}`)
  return {
    text: title,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title } },
      { type: 'section', text: { type: 'mrkdwn', text: lines.join('\n') } },
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: `\`${incident.id}\` · ${describeSpan(incident)}` }],
      },
    ],
  }
}

/**
 * The body for PagerDuty's Events API v2. All events of an incident have the same `dedup_key`.
 *
 * @example
 * const body = JSON.stringify(pagerDutyEvent(incident, routingKey))
 * await fetch('https://events.pagerduty.com/v2/enqueue', { method: 'POST', body })
 */
export function pagerDutyEvent(incident: Incident, routingKey: string): object {
  expectIncident('incident', incident)
  if (typeof routingKey !== 'string' || routingKey === '')
    refuseClient('routingKey', 'a non-empty string', routingKey)
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

/**
 * Posts JSON. Without a connection, and after status 429 and 5xx, it tries again, with longer pauses each time.
 *
 * @example
 * await postJson(process.env.SLACK_URL, slackMessage(incident))
 */
export async function postJson(url: string | URL, body: object, options: PostOptions = {}): Promise<void> {
  // The address of a webhook is a secret, so no message shows it.
  if (!(url instanceof URL || (typeof url === 'string' && URL.canParse(url))))
    refuseClient('url', 'an absolute URL', url)
  expectObject('body', body as unknown)
  expectOptions(options, { fetch: 1, clock: 1, attempts: 1, timeout: 1 })
  const { fetch: send = fetch, clock = systemClock, attempts = ALERT_ATTEMPTS } = options
  expectFunction('fetch', send as unknown)
  expectMethods('clock', clock, 'a Clock', 'setTimer')
  expectWhole('attempts', attempts, 1)
  const timeoutMs = expectDuration('timeout', options.timeout ?? ALERT_TIMEOUT_MS, 1)
  for (let attempt = 1; ; attempt++) {
    const failure = await post(send, url, body, timeoutMs)
    if (!failure) return
    if (!failure.retryable || attempt >= attempts) {
      const code = failure.retryable ? 'store-unavailable' : 'store-failed'
      throw new LeaseError(code, `${new URL(url).host}: ${failure.problem}`)
    }
    const backoff = failure.retryAfterMs ?? ALERT_PAUSE_MS * 2 ** (attempt - 1)
    await pause(clock, Math.min(LONGEST_ALERT_PAUSE_MS, backoff))
  }
}

interface PostFailure {
  readonly problem: string
  readonly retryable: boolean
  readonly retryAfterMs?: number
}

async function post(
  send: typeof fetch,
  url: string | URL,
  body: object,
  timeoutMs: number,
): Promise<PostFailure | undefined> {
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    // The status is known, so an error of the connection from now on does not matter.
    response.body?.cancel().catch(() => {})
    if (response.ok) return undefined
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    return {
      problem: `status ${response.status}`,
      retryable: response.status === 429 || response.status >= 500,
      ...(retryAfter >= 0 && { retryAfterMs: retryAfter * 1000 }),
    }
  } catch (error) {
    // Some messages of `fetch` contain the address, and that of a webhook is a secret.
    return { problem: messageOf(error).replace(/\S+:\/\/.*/s, 'the address'), retryable: true }
  }
}
