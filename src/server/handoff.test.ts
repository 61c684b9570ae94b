import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import {
  type Answer,
  Browser,
  type Heard,
  ORIGIN,
  type ServiceBed,
  serviceBed,
  story,
} from '../../test/server/service-bed.ts'
import type { BusMessage } from './bus.ts'
import { memoryBus } from './buses/memory.ts'
import { createLockServer } from './index.ts'

const DOCUMENT = '/api/documents/room-1'
const LOCK = `${DOCUMENT}/lock`

const SECRETS = { cookieSecrets: ['a secret of all nodes'], channelSecret: 'another secret of all nodes' }

let bed: ServiceBed
let holder: Browser
let other: Browser
let heard: Heard[]
let token: number
async function start(settings: { unanswered?: 'grant'; takeover?: boolean } = {}): Promise<void> {
  bed = await serviceBed({ settings })
  holder = bed.browser('tab-1')
  other = bed.browser('tab-2')
  heard = bed.socket('room-1')
  token = (await holder.call('POST', LOCK)).body.token
}
beforeEach(() => start())
afterEach(() => bed[Symbol.asyncDispose]())

describe('a takeover', () => {
  it('a takeover tells the holder, gives it the grace period to save, and then stops its saves', async () => {
    const taking = other.call('POST', `${LOCK}/takeover`, { name: 'Aoi' })
    await isAsked()
    await bed.clock.advance(4999)
    expect(requested()).toMatchObject({
      kind: 'takeover',
      by: { name: 'Aoi' },
      token,
      answer_within_ms: 5000,
    })
    expect((await save(holder, 'in the grace')).status).toBe(200)
    await bed.clock.advance(1)
    const taken = await taking
    expect(taken.status).toBe(200)
    expect(taken.body.token).toBeGreaterThan(token)
    expect((await save(holder, 'too late')).body.error).toBe('stale_token')
    expect((await holder.call('GET', DOCUMENT)).body).toMatchObject({ content: 'in the grace', token })
    expect((await holder.call('PUT', LOCK)).body.error).toBe('not_locked_by_user')
    expect(story(heard)).toEqual([
      'document.locked 12:00:00',
      'document.takeover-requested 12:00:00',
      'document.saved 12:00:04',
      'document.unlocked 12:00:05',
      'document.locked 12:00:05',
    ])
    expect(heard[3]?.data).toMatchObject({ reason: 'taken-over', token })
  })

  it('a takeover ends as soon as the holder agrees', async () => {
    const taking = other.call('POST', `${LOCK}/takeover`)
    await isAsked()
    await bed.clock.advance(1000)
    await answer(holder, true)
    expect((await taking).status).toBe(200)
    expect(bed.clock.now() % 60_000).toBe(1000)
  })

  it('a takeover cannot be prevented by a holder that declines or is gone', async () => {
    const taking = other.call('POST', `${LOCK}/takeover`)
    await isAsked()
    await bed.clock.advance(1000)
    expect((await answer(holder, false)).body.error).toBe('takeover_not_declinable')
    // It is still open, and nobody hears that it was declined.
    expect((await holder.call('GET', LOCK)).body).toMatchObject({ request: { kind: 'takeover' } })
    expect(story(heard)).not.toContain('document.takeover-answered 12:00:01')
    await bed.clock.advance(4000)
    expect((await taking).status).toBe(200)
  })

  it('a takeover does not take the lock of a third client that got it meanwhile', async () => {
    const taking = other.call('POST', `${LOCK}/takeover`)
    await isAsked()
    const waiting = bed.browser('tab-3').call('POST', `${LOCK}?wait=30`)
    await eventually(() => expect(story(heard)).toContain('document.line 12:00:00'))
    await holder.call('DELETE', LOCK)
    expect((await waiting).status).toBe(200)
    expect((await taking).body).toMatchObject({ error: 'already_locked' })
  })

  it('a takeover does nothing if the client disconnects', async () => {
    const gone = new AbortController()
    const taking = other.call('POST', `${LOCK}/takeover`, undefined, { signal: gone.signal })
    await isAsked()
    await bed.clock.advance(1000)
    gone.abort()
    expect((await taking).status).toBe(499)
    await bed.clock.advance(10_000)
    expect((await holder.call('GET', LOCK)).body).toMatchObject({ is_locked: true, token })
  })

  it('a takeover can be forbidden', async () => {
    await bed[Symbol.asyncDispose]()
    await start({ takeover: false })
    expect((await other.call('POST', `${LOCK}/takeover`)).body.error).toBe('forbidden')
  })

  it('a takeover by a second tab of the same session is a takeover from another client', async () => {
    const second = holder.tab('tab-9')
    const taking = second.call('POST', `${LOCK}/takeover`)
    await isAsked()
    await bed.clock.advance(5000)
    expect((await taking).body.you.session_id).toBe((await holder.call('GET', LOCK)).body.you.session_id)
    expect((await holder.call('PUT', LOCK)).status).toBe(403)
  })
})

describe('a handoff request', () => {
  it('a handoff request is granted by the holder', async () => {
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    expect(requested()).toMatchObject({ kind: 'request', answer_within_ms: 15_000 })
    await answer(holder, true)
    expect((await asking).status).toBe(200)
    expect(story(heard)).toContain('document.takeover-answered 12:00:00')
  })

  it('a handoff request is declined by the holder', async () => {
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    await answer(holder, false)
    expect((await asking).body.error).toBe('handover_declined')
    expect((await holder.call('PUT', LOCK)).status).toBe(200)
  })

  it.each([
    ['counts as declined after 15 s without an answer', {}, 409],
    ['counts as granted after 15 s without an answer, if so configured', { unanswered: 'grant' }, 200],
  ] as const)('%s', async (_, settings, status) => {
    await bed[Symbol.asyncDispose]()
    await start(settings)
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    await bed.clock.advance(14_999)
    await holder.call('PUT', LOCK)
    await bed.clock.advance(1)
    expect((await asking).status).toBe(status)
  })

  describe('that the holder postpones', () => {
    const postpone = (by: Browser, ms: number) =>
      by.call('POST', `${LOCK}/request/answer`, {
        request_id: Object(requested()).request_id,
        postpone_ms: ms,
      })
    /** A minute, in which the holder renews its lock. */
    const passMinute = async () => {
      for (let n = 0; n < 6; n++) {
        await bed.clock.advance(10_000)
        await holder.call('PUT', LOCK)
      }
    }

    it('a handoff request that the holder postpones stays open for that time, is told to the room, and is then asked again', async () => {
      const asking = other.call('POST', `${LOCK}/request`, { name: 'Aoi' })
      await isAsked()
      expect((await postpone(holder, 120_000)).status).toBe(200)
      const { request_id } = Object(requested())
      const told = heard.find(({ event }) => event === 'document.takeover-postponed')
      const time = { postponed_ms: 120_000, answer_within_ms: 135_000 }
      expect(told?.data).toMatchObject({ request_id, by: { name: 'Aoi' }, ...time })
      expect((await holder.call('GET', LOCK)).body).toMatchObject({ request: { request_id, ...time } })
      await passMinute()
      await passMinute()
      const { request } = Object((await holder.call('GET', LOCK)).body)
      expect(request).toMatchObject({ request_id, answer_within_ms: 15_000 })
      expect(request).not.toHaveProperty('postponed_ms')
      await bed.clock.advance(15_000)
      expect((await asking).body.error).toBe('handover_unanswered')
    })

    it('a handoff request that the holder postpones can be granted at any time', async () => {
      const asking = other.call('POST', `${LOCK}/request`)
      await isAsked()
      await postpone(holder, 120_000)
      await passMinute()
      await answer(holder, true)
      expect((await asking).status).toBe(200)
    })

    it('a handoff request that the holder postpones stays open although the message that told so was lost', async () => {
      const bus = memoryBus()
      let lost = 0
      const publish = async (message: BusMessage) => {
        if (lost === 0 && message.topic === 'handover' && 'postponeMs' in message.data) lost++
        else await bus.publish(message)
      }
      await using lossy = await serviceBed({ bus: { ...bus, publish } })
      const asked = lossy.browser('tab-1')
      await asked.call('POST', LOCK)
      const asking = lossy.browser('tab-2').call('POST', `${LOCK}/request`)
      const request_id = await eventually(async () => {
        const { request } = Object((await asked.call('PUT', LOCK)).body)
        expect(request).toBeDefined()
        return request.request_id
      })
      await asked.call('POST', `${LOCK}/request/answer`, { request_id, postpone_ms: 60_000 })
      expect(lost).toBe(1)
      await lossy.clock.advance(2000)
      for (let n = 0; n < 4; n++) {
        await lossy.clock.advance(10_000)
        expect((await asked.call('PUT', LOCK)).body).toMatchObject({ request: { request_id } })
      }
      await asked.call('POST', `${LOCK}/request/answer`, { request_id, granted: true })
      expect((await asking).status).toBe(200)
    })

    it.each([0, 600_001, 1.5, '2m'])(
      'a handoff request that the holder postpones is refused for %j ms',
      async (ms) => {
        const asking = other.call('POST', `${LOCK}/request`)
        await isAsked()
        expect((await postpone(holder, ms as number)).status).toBe(400)
        await answer(holder, false)
        await asking
      },
    )

    it('a handoff request that the holder postpones is refused for a takeover', async () => {
      const taking = other.call('POST', `${LOCK}/takeover`)
      await isAsked()
      expect((await postpone(holder, 60_000)).body.error).toBe('takeover_not_declinable')
      await bed.clock.advance(5000)
      expect((await taking).status).toBe(200)
    })
  })

  it('a handoff request takes a lock that becomes free meanwhile', async () => {
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    await holder.call('DELETE', LOCK)
    expect((await asking).status).toBe(200)
  })

  it('a handoff request is in every answer to the holder until it is answered, and then the next one is', async () => {
    const third = bed.browser('tab-3')
    const asking = other.call('POST', `${LOCK}/request`, { name: 'Aoi' })
    await isAsked()
    await bed.clock.advance(1000)
    const taking = third.call('POST', `${LOCK}/takeover`, { name: 'Ren' })
    await eventually(() => expect(heard).toHaveLength(3))
    const first = { kind: 'request', by: { name: 'Aoi' }, answer_within_ms: 14_000 }
    for (const method of ['GET', 'PUT', 'POST'])
      expect((await holder.call(method, LOCK)).body).toMatchObject({ request: first })
    expect((await other.call('GET', LOCK)).body).not.toHaveProperty('request')
    await answer(holder, false)
    const second = { kind: 'takeover', by: { name: 'Ren' }, answer_within_ms: 5000 }
    expect((await holder.call('PUT', LOCK)).body).toMatchObject({ request: second })
    expect((await asking).status).toBe(409)
    await bed.clock.advance(5000)
    expect((await taking).body).not.toHaveProperty('request')
  })

  it('a handoff request is over when the client withdraws it, and the room hears so', async () => {
    // Gets its session.
    await other.call('GET', LOCK)
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    await other.call('DELETE', LOCK)
    expect((await asking).body.error).toBe('withdrawn')
    const { request_id } = Object(requested())
    await eventually(() =>
      expect(heard.at(-1)).toMatchObject({
        event: 'document.takeover-answered',
        data: { request_id, granted: false },
      }),
    )
    expect((await holder.call('GET', LOCK)).body).not.toHaveProperty('request')
  })

  it('a handoff request reaches the holder, though the messages of the bus that told of it were lost', async () => {
    const bus = memoryBus()
    let lost = 0
    const publish = async (message: BusMessage) => {
      if (lost < 2 && ['handover', 'document'].includes(message.topic)) lost++
      else await bus.publish(message)
    }
    await using lossy = await serviceBed({ bus: { ...bus, publish } })
    const asked = lossy.browser('tab-1')
    await asked.call('POST', LOCK)
    const asking = lossy.browser('tab-2').call('POST', `${LOCK}/request`)
    await eventually(() => expect(lost).toBe(2))
    expect((await asked.call('PUT', LOCK)).body).not.toHaveProperty('request')
    await lossy.clock.advance(2000)
    const { request } = Object((await asked.call('PUT', LOCK)).body)
    expect(request.answer_within_ms).toBe(13_000)
    await asked.call('POST', `${LOCK}/request/answer`, { request_id: request.request_id, granted: true })
    expect((await asking).status).toBe(200)
  })

  it('a handoff request is granted although the message with the answer was lost', async () => {
    const bus = memoryBus()
    let lost = 0
    const publish = async (message: BusMessage) => {
      if (lost === 0 && message.topic === 'handover' && 'granted' in message.data) lost++
      else await bus.publish(message)
    }
    await using lossy = await serviceBed({ bus: { ...bus, publish } })
    const asked = lossy.browser('tab-1')
    await asked.call('POST', LOCK)
    const asking = lossy.browser('tab-2').call('POST', `${LOCK}/request`)
    const requestId = await eventually(async () => {
      const { request } = Object((await asked.call('PUT', LOCK)).body)
      expect(request).toBeDefined()
      return request.request_id
    })
    await asked.call('POST', `${LOCK}/request/answer`, { request_id: requestId, granted: true })
    expect(lost).toBe(1)
    await lossy.clock.advance(2000)
    expect((await asking).status).toBe(200)
  })

  it('a handoff request is shown to the holder again if its answer could not be told', async () => {
    const bus = memoryBus()
    let fails = true
    const publish = async (message: BusMessage) => {
      if (fails && message.topic === 'handover' && 'granted' in message.data) throw new Error('no connection')
      await bus.publish(message)
    }
    await using failing = await serviceBed({ bus: { ...bus, publish } })
    const asked = failing.browser('tab-1')
    await asked.call('POST', LOCK)
    const asking = failing.browser('tab-2').call('POST', `${LOCK}/request`)
    const shown = () =>
      eventually(async () => {
        const { request } = Object((await asked.call('PUT', LOCK)).body)
        expect(request).toBeDefined()
        return request.request_id
      })
    const answer = async () =>
      asked.call('POST', `${LOCK}/request/answer`, { request_id: await shown(), granted: true })
    expect((await answer()).status).toBe(500)
    fails = false
    expect((await answer()).status).toBe(200)
    expect((await asking).status).toBe(200)
  })

  it('a handoff request gets a lock whose end was not heard', async () => {
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    // As on a store that cannot push, at another node.
    const watched = vi.spyOn(bed.store, 'read').mockResolvedValue([[]])
    onTestFinished(() => watched.mockRestore())
    await bed.clock.advance(15_000)
    expect((await asking).body.error).not.toBe('handover_unanswered')
  })

  it('a handoff request from further back names those whom it passes, to the room and in every answer to the holder', async () => {
    const third = bed.browser('tab-3')
    for (const waiter of [other, third]) await waiter.call('GET', LOCK)
    const waits = new AbortController()
    const queue = [
      other.call('POST', `${LOCK}?wait=30`, { name: 'Aoi' }, { signal: waits.signal }),
      third.call('POST', `${LOCK}?wait=30`, { name: 'Ren' }, { signal: waits.signal }),
    ]
    await eventually(async () =>
      expect((await holder.call('GET', LOCK)).body).toMatchObject({ waiting_count: 2 }),
    )
    const { waiting } = Object((await holder.call('GET', LOCK)).body)
    const [first, second] = waiting
    const asking = (second.name === 'Ren' ? third : other).call('POST', `${LOCK}/request`)
    await isAsked()
    expect(requested()).toMatchObject({ passes: [first] })
    expect((await holder.call('PUT', LOCK)).body).toMatchObject({ request: { passes: [first] } })
    await answer(holder, false)
    expect((await asking).status).toBe(409)
    waits.abort()
    await Promise.all(queue)
  })

  it('a handoff request of the first waiter passes nobody', async () => {
    await other.call('GET', LOCK)
    const gone = new AbortController()
    const waiting = other.call('POST', `${LOCK}?wait=30`, undefined, { signal: gone.signal })
    await eventually(() => expect(story(heard)).toContain('document.line 12:00:00'))
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    expect(requested()).not.toHaveProperty('passes')
    await answer(holder, true)
    expect((await asking).status).toBe(200)
    gone.abort()
    await waiting
  })

  it('a handoff request of the own session is granted after the grace period, because that tab may have crashed', async () => {
    const asking = holder.tab('tab-9').call('POST', `${LOCK}/request`)
    await isAsked()
    expect(requested()).toMatchObject({ answer_within_ms: 5000 })
    await bed.clock.advance(5000)
    expect((await asking).body.token).toBeGreaterThan(token)
  })

  it('a handoff request can be answered only by the holder', async () => {
    const asking = other.call('POST', `${LOCK}/request`)
    await isAsked()
    expect((await answer(other, true)).body.error).toBe('not_locked_by_user')
    await answer(holder, false)
    expect((await asking).status).toBe(409)
  })
})

describe('a save', () => {
  it('a save is stopped by a newer lock that has not saved yet', async () => {
    await bed.clock.advance(30_000)
    await other.call('POST', LOCK)
    expect((await save(holder, 'old')).body.error).toBe('stale_token')
  })

  it('a save of a holder whose lock has expired is accepted if nobody followed', async () => {
    await bed.clock.advance(60_000)
    expect((await save(holder, 'late')).status).toBe(200)
  })

  it('a save with the token of another client is refused', async () => {
    expect((await save(other, 'forged')).body.error).toBe('not_locked_by_user')
  })

  it('a save is stopped by a lease that was acquired directly in the store', async () => {
    const ask = { resource: 'document:room-1', id: 'worker', owner: 'worker', ttl: 60_000 }
    await bed.store.acquire({ ...ask, replace: token })
    expect((await save(holder, 'old')).body.error).toBe('stale_token')
  })

  it.each([null, 'text', 7, { nested: ['\u0000', '🔒'] }])('a save keeps %j as it was', async (content) => {
    await save(holder, content)
    expect((await other.call('GET', DOCUMENT)).body).toMatchObject({ content, token })
  })
})

function requested(): Heard['data'] | undefined {
  return heard.find(({ event }) => event === 'document.takeover-requested')?.data
}

/** The holder has been told. */
function isAsked(): Promise<void> {
  return eventually(() => expect(requested()).toBeDefined())
}

function answer(by: Browser, granted: boolean): Promise<Answer> {
  return by.call('POST', `${LOCK}/request/answer`, { request_id: Object(requested()).request_id, granted })
}

function save(by: Browser, content: unknown): Promise<Answer> {
  return by.call('PUT', DOCUMENT, { content, token })
}

describe('a demand that is sent again and again, because proxies end long requests', () => {
  const ask = (browser: Browser, seconds: number, kind = 'request') =>
    browser.call('POST', `${LOCK}/${kind}?wait=${seconds}`, { name: 'Aoi' })
  /** What was sent before has arrived, and no time has passed. */
  async function arrival(browser: Browser): Promise<void> {
    for (let n = 0; n < 5; n++) await browser.call('GET', LOCK)
  }
  /** Lets time pass until the request has its answer. */
  async function answerTo(request: Promise<Answer>): Promise<Answer> {
    let found: Answer | undefined
    await arrival(holder)
    void request.then((answer) => (found = answer))
    await eventually(async () => {
      await bed.clock.advance(500)
      expect(found).toBeDefined()
    })
    return request
  }
  const answered = () => heard.filter(({ event }) => event === 'document.takeover-answered')
  const questions = () => heard.filter(({ event }) => event === 'document.takeover-requested')

  it('a demand that is sent again is the same question to the holder', async () => {
    const first = ask(other, 4)
    await isAsked()
    const { body } = await answerTo(first)
    expect(body).toMatchObject({ error: 'handoff_pending' })
    expect(body).toHaveProperty('answer_within_ms')
    const second = ask(other, 4)
    expect((await holder.call('GET', LOCK)).body).toHaveProperty('request')
    await answer(holder, true)
    expect((await second).status).toBe(200)
    expect(questions()).toHaveLength(1)
  })

  it('a demand gets what the holder has answered while no request was open', async () => {
    const first = ask(other, 4)
    await isAsked()
    await answerTo(first)
    await answer(holder, false)
    await bed.clock.advance(1000)
    expect((await ask(other, 4)).body.error).toBe('handover_declined')
  })

  it('a demand that the holder has postponed says for how long', async () => {
    const first = ask(other, 4)
    await isAsked()
    const { request_id } = Object(requested())
    await holder.call('POST', `${LOCK}/request/answer`, { request_id, postpone_ms: 120_000 })
    const body = Object((await answerTo(first)).body)
    expect(body.postponed_ms).toBeGreaterThan(100_000)
    expect(body.answer_within_ms - body.postponed_ms).toBe(15_000)
  })

  it('a demand survives a connection that was cut, and ends when the client does not come back', async () => {
    const cut = new AbortController()
    const first = other.call('POST', `${LOCK}/request?wait=4`, {}, { signal: cut.signal })
    await isAsked()
    cut.abort()
    expect((await first).status).toBe(499)
    await bed.clock.advance(2900)
    const second = ask(other, 4)
    expect((await answerTo(second)).body.error).toBe('handoff_pending')
    expect(questions()).toHaveLength(1)
    expect(answered()).toEqual([])
    await bed.clock.advance(3000)
    await eventually(() => expect(answered()).toHaveLength(1))
    expect((await holder.call('GET', LOCK)).body).not.toHaveProperty('request')
  })

  it('a demand ends at once when the client withdraws between two requests', async () => {
    const first = ask(other, 4)
    await isAsked()
    await answerTo(first)
    await other.call('DELETE', LOCK)
    await eventually(() => expect(answered()).toHaveLength(1))
    await eventually(async () => expect((await holder.call('GET', LOCK)).body).not.toHaveProperty('request'))
    await bed.clock.advance(10_000)
    expect(answered()).toHaveLength(1)
  })

  it('a demand is one question, whichever of two requests of the client waits', async () => {
    await other.call('GET', LOCK)
    const first = ask(other, 4)
    await isAsked()
    const second = ask(other, 4)
    expect((await first).body.error).toBe('superseded')
    await answer(holder, true)
    expect((await second).status).toBe(200)
  })

  it('a demand goes on at another node, also with an answer that came while the client was on its way', async () => {
    const bus = memoryBus()
    await using here = await serviceBed({ bus, settings: SECRETS })
    const { store, clock } = here
    await using elsewhere = await createLockServer({ store, clock, bus, log: () => {}, settings: SECRETS })
    const [asked, tab] = [here.browser('holder'), here.browser('tab')]
    const questions = here.socket('room-1')
    await asked.call('POST', LOCK)
    await tab.call('GET', LOCK)
    const moved = new Browser(elsewhere.fetch, { Origin: ORIGIN, 'X-Holdfast-Client': 'tab' })
    moved.cookie = tab.cookie
    const first = tab.call('POST', `${LOCK}/request?wait=4`)
    const isOpen = async () => expect((await asked.call('PUT', LOCK)).body).toHaveProperty('request')
    await eventually(isOpen)
    const { request } = Object((await asked.call('PUT', LOCK)).body)
    await eventually(async () => {
      await clock.advance(500)
      expect((await Promise.race([first, { body: {} }])).body).toMatchObject({ error: 'handoff_pending' })
    })
    const second = moved.call('POST', `${LOCK}/request?wait=4`)
    await arrival(asked)
    await eventually(async () => {
      await clock.advance(500)
      expect((await Promise.race([second, { body: {} }])).body).toMatchObject({ error: 'handoff_pending' })
    })
    await asked.call('POST', `${LOCK}/request/answer`, { request_id: request.request_id, granted: true })
    expect((await moved.call('POST', `${LOCK}/request?wait=4`)).status).toBe(200)
    const names = questions.map(({ event }) => event).filter((event) => event.includes('takeover'))
    expect(names).toEqual(['document.takeover-requested', 'document.takeover-answered'])
  })

  it('a takeover with short requests ends with the grace period', async () => {
    const first = ask(other, 2, 'takeover')
    await isAsked()
    expect((await answerTo(first)).body.error).toBe('handoff_pending')
    let asked = await answerTo(ask(other, 2, 'takeover'))
    while (asked.status !== 200) {
      expect(asked.body.error).toBe('handoff_pending')
      asked = await answerTo(ask(other, 2, 'takeover'))
    }
    expect(bed.clock.now() % 60_000).toBeLessThanOrEqual(7000)
    expect(questions()).toHaveLength(1)
  })
})
