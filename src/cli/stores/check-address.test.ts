import { describe, expect, it } from 'vitest'
import { checkAddress } from './check-address.ts'

const ENCODE = /is not a valid URL; expected one such as .*, and in a user or password, write # as %23/

describe('the address of a store', () => {
  it.each([
    ['a database of Redis that is no number', 'redis://host/abc', /expected the number of a database/],
    ['a database of Redis with a path', 'rediss://host/0/1', /expected the number of a database/],
    ['a database of a cluster', 'redis+cluster://a,b/1', /a cluster has only one database/],
    ['no host of a cluster', 'redis+cluster://a,,b', /is not a valid URL/],
    ['a wrong port of the second host', 'redis+cluster://a:1,b:x', /is not a valid URL/],
    ['an unknown parameter of a cluster', 'redis+cluster://a?db=1', /redis\+cluster: takes \?prefix=/],
    ['no name of a primary', 'redis+sentinel://a,b', /expected the name of the primary after the hosts/],
    ['a database that is no number', 'redis+sentinel://a/m?db=x', /db: expected the number of a database/],
    ['a raw # in the password of a cluster', 'redis+cluster://app:a#b@a,b', ENCODE],
    ['no database of MySQL', 'mysql://app@host', /expected the name of a database after the host/],
    ['a path of NATS', 'nats://host/bucket', /expected no path after the host/],
    [
      'an unknown parameter of SQLite',
      'sqlite:./a.db?tabel=x',
      /a parameter is unknown; sqlite: takes \?table=/,
    ],
    ['a parameter of files', 'file:./locks?table=x', /file: takes no parameters/],
    ['an unknown parameter of NATS', 'nats://host?buckt=x', /nats: takes \?bucket= and \?replicas=/],
    ['an unknown parameter of etcd', 'etcd://a:1,b:2?prefx=x', /etcd: takes \?prefix=/],
    ['an unknown parameter of a server', 'http://host?token=x', /http: takes \?key=/],
    ['a raw # in the password', 'postgres://app:a#b@host/db', ENCODE],
    ['a raw # after digits of the password', 'redis://app:12#b@host', ENCODE],
    ['a raw / in the password', 'mysql://app:1/b@host/db', ENCODE],
    ['a raw ? in the password', 'redis://app:1?b@host', ENCODE],
    ['a raw % in the password', 'postgres://app:%b@host/db', ENCODE],
    ['several hosts of Postgres', 'postgres://a@h1:1,h2:2/db', /is not a valid URL/],
    ['no slashes', 'redis:host', /is not a valid URL; expected one such as redis:\/\/localhost:6379$/],
    ['a port that is no number', 'redis://a:b:c', /is not a valid URL/],
    ['a port that is too high', 'nats://host:99999', /is not a valid URL/],
    ['no host of a server', 'http://', /is not a valid URL/],
    [
      'another scheme',
      'mongodb://host',
      /is not the address of a store; expected one that begins with sqlite:/,
    ],
    ['no scheme', 'locks', /locks is not the address of a store/],
    ['a name of every object', 'constructor:x', /is not the address of a store/],
  ])('the address of a store is refused: %s', (_, address, message) => {
    expect(() => checkAddress(address)).toThrow(expect.objectContaining({ exitCode: 64 }))
    expect(() => checkAddress(address)).toThrow(message)
  })

  it.each([
    'sqlite:./holdfast.db',
    'sqlite:/srv/a@b#c.db?table=x',
    'file:./locks',
    'redis://host',
    'redis://host/',
    'redis://:a%23b@host:6379/15?prefix=x&family=6',
    'rediss://[::1]:6379',
    'redis+cluster://a,b:7000,[::1]:7001?prefix=x',
    'rediss+cluster://app:a%23b@a',
    'redis+sentinel://:pw@a,b:26380/my%20master?db=2&sentinelPassword=x&sentinelUser=y&prefix=z',
    'rediss+sentinel://a/m',
    'postgres://host?user=me@corp',
    'postgres://a@h1:1/db?sslmode=require&table=x',
    'postgresql:///db',
    'mysql://app:p%40ss@host/db?timezone=Z',
    'nats://token@host:4222?bucket=b&replicas=3',
    'etcd://root:pass@a:2379,b:2379,c:2379?prefix=x/',
    'etcds://a',
    'https://TOKEN@host/base?key=x',
  ])('the address of a store is accepted: %s', (address) => {
    checkAddress(address)
  })
})
