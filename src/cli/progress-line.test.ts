import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { ProgressLine } from './progress-line.ts'

function line() {
  const clock = new FakeClock()
  const written: string[] = []
  return { clock, written, progress: new ProgressLine((text) => written.push(text), clock) }
}

describe('the line of progress', () => {
  it('the line of progress says nothing about what takes less than a second', async () => {
    const { clock, written, progress } = line()
    progress.show('connecting')
    await clock.advance(900)
    progress.show('')
    await clock.advance(5000)
    expect(written).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('the line of progress says what takes longer, and for how long, until it is over', async () => {
    const { clock, written, progress } = line()
    progress.show('connecting')
    await clock.advance(2000)
    progress.show('reading')
    progress.show('')
    expect(written).toEqual([
      '\r\x1b[Kconnecting (1 s)',
      '\r\x1b[Kconnecting (2 s)',
      '\r\x1b[Kreading (2 s)',
      '\r\x1b[K',
    ])
  })

  it('the line of progress makes room for other lines', async () => {
    const { clock, written, progress } = line()
    progress.show('reading')
    await clock.advance(1000)
    progress.clear()
    progress.clear()
    expect(written).toEqual(['\r\x1b[Kreading (1 s)', '\r\x1b[K'])
  })
})
