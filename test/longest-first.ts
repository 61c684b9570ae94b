import { basename, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, the longest first, but the tortures, which need a core each, are spread. A file that is
 * missing here only ends the run a little later.
 */
export const LONGEST = [
  'test/sim/zoo.test.ts',
  'test/sim/sim.test.ts',
  'test/sim/product.test.ts',
  'test/sim/parts.test.ts',
  'test/sim/documents-1.test.ts',
  'test/sim/documents-2.test.ts',
  'test/stores/firestore.torture.test.ts',
  'test/docs/docs.test.ts',
  'test/stores/firestore.test.ts',
  'test/stores/postgres.test.ts',
  'test/surface/surface.test.ts',
  'test/stores/etcd.torture.test.ts',
  'test/torture/torture.test.ts',
  'test/scenarios/firestore.test.ts',
  'test/scenarios/etcd.test.ts',
  'test/server/contents.test.ts',
  'test/stores/mysql.test.ts',
  'test/stores/redis.test.ts',
  'test/stores/mysql.torture.test.ts',
  'test/package/exports.test.ts',
  'test/stores/etcd.test.ts',
  'test/stores/redis.torture.test.ts',
  'test/cli/run.test.ts',
  'test/stores/redis-cluster.test.ts',
  'test/stores/postgres.torture.test.ts',
  'test/cli/outage.test.ts',
  'test/stores/once-example.test.ts',
  'test/stores/sqlite.torture.test.ts',
  'test/stores/nats.test.ts',
  'test/stores/guard.test.ts',
  'test/stores/nats.torture.test.ts',
  'test/cli/frozen.test.ts',
  'test/cli/misuse.test.ts',
  'test/stores/once-processes.test.ts',
  'test/server/nodes.test.ts',
  'test/stores/file-schedules.test.ts',
  'test/stores/file.torture.test.ts',
]

/**
 * Starts the longest files of a group first, so that none of them runs alone at the end. The others follow by name,
 * whatever their folder, so that those that compute run beside those that wait. The order is the same in every run.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) => {
      const place = LONGEST.indexOf(relative(project.config.root, moduleId))
      return place < 0 ? LONGEST.length : place
    }
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    const nameOf = ({ moduleId }: TestSpecification) => basename(moduleId) + moduleId
    return files.toSorted(
      (a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b) || (nameOf(a) < nameOf(b) ? -1 : 1),
    )
  }
}
