import { beforeEach, describe, expect, it } from 'vitest'
import { Parties } from './parties.ts'

let parties: Parties
let heard: string[]
beforeEach(() => {
  parties = new Parties()
  heard = []
})

function asks(id: string, wants: ('wake' | 'lost')[] = ['wake', 'lost']): void {
  parties.expect({
    ...{ resource: 'r', id, owner: 'Mika', ttl: 1000 },
    ...(wants.includes('wake') && { wake: (inMs: number) => heard.push(`${id} wake ${inMs}`) }),
    ...(wants.includes('lost') && { lost: () => heard.push(`${id} lost`) }),
  })
}

function granted(id: string, token: number): void {
  const times = { acquiredAt: 0, expiresAt: 1, remaining: 1 }
  parties.granted({ resource: 'r', id, owner: 'Mika', token, metadata: null, ...times, state: 'held' })
}

describe('a waiter', () => {
  it('is called, whatever its id looks like', () => {
    asks('with space % and 美')
    parties.hear(`wake 1000 ${encodeURIComponent('with space % and 美')}`)
    expect(heard).toEqual(['with space % and 美 wake 1000'])
  })

  it('is called though it asked again without saying so', () => {
    asks('a')
    asks('a', [])
    parties.refused('a', true)
    parties.wakeAll()
    expect(heard).toEqual(['a wake 0'])
  })

  it('is not called once it was granted, or does not stand in line', () => {
    asks('a')
    asks('b')
    granted('a', 1)
    parties.refused('b', false)
    for (const id of ['a', 'b']) parties.hear(`wake 0 ${id}`)
    expect(heard).toEqual([])
  })
})

describe('a holder', () => {
  it('hears once that its lease was ended', () => {
    asks('a')
    granted('a', 5)
    for (let n = 0; n < 2; n++) parties.hear('lost 5 a')
    expect([heard, parties.size]).toEqual([['a lost'], 0])
  })

  it('hears of it though that came before the grant', () => {
    asks('a')
    parties.hear('lost 5 a')
    expect(heard).toEqual([])
    granted('a', 5)
    expect(heard).toEqual(['a lost'])
  })

  it('does not take the end of an earlier lease of its own for that of this one', () => {
    asks('a')
    granted('a', 5)
    asks('a')
    parties.refused('a', true)
    parties.hear('lost 5 a')
    granted('a', 6)
    parties.hear('lost 5 a')
    expect([heard, parties.leases()]).toMatchObject([[], [{ id: 'a', token: 6 }]])
  })

  it('is forgotten when it wants to hear of nothing, or gave up', () => {
    asks('a', ['wake'])
    granted('a', 1)
    asks('b')
    granted('b', 1)
    parties.forget('b')
    expect(parties.size).toBe(0)
  })
})
