// Parse.Relation: a field that leads to many objects.
(function (internal, module) {
  'use strict';

  class Relation {
    constructor(parent, key, targetClassName = null) {
      this.parent = parent;
      this.key = key;
      this.targetClassName = targetClassName;
    }
    _ensure(parent, key) {
      this.parent ||= parent;
      this.key ||= key;
      return this;
    }
    add(objects) {
      const list = [].concat(objects);
      this.#change(list, []);
      return this.parent;
    }
    remove(objects) { this.#change([], [].concat(objects)); }
    #change(add, remove) {
      if (add.length === 0 && remove.length === 0) return;
      const { RelationOp } = internal('parse/ops');
      const op = new RelationOp(add, remove);
      if (!this.parent) throw new Error('Cannot modify a Relation without a parent');
      this.parent.set(this.key, op);
      this.targetClassName = op._targetClassName || this.targetClassName;
    }
    query() {
      const Query = internal('parse/query');
      if (!this.parent) throw new Error('Cannot construct a query for a Relation without a parent');
      const query = new Query(this.targetClassName || this.parent.className);
      if (!this.targetClassName) query._extraOptions.redirectClassNameForKey = this.key;
      query._addCondition('$relatedTo', 'object', this.parent.toPointer());
      query._addCondition('$relatedTo', 'key', this.key);
      return query;
    }
    toJSON() { return { __type: 'Relation', className: this.targetClassName }; }
  }
  module.exports = Relation;
})
