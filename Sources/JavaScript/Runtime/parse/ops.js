// Operations: what is to happen to a field when its object is saved.
(function (internal, module) {
  'use strict';
  const { encode, decode, equals } = internal('parse/encode');
  const ParseError = internal('parse/error');

  class Op {
    // The field's value after the operation.
    applyTo(value) { return value; } // eslint-disable-line class-methods-use-this
    // One operation that does what `previous` and then this one do.
    mergeWith(previous) { return previous; } // eslint-disable-line class-methods-use-this
    toJSON() { return {}; } // eslint-disable-line class-methods-use-this
  }

  class SetOp extends Op {
    constructor(value) { super(); this._value = value; }
    applyTo() { return this._value; }
    mergeWith() { return this; }
    toJSON() { return encode(this._value, false, true); }
  }

  class UnsetOp extends Op {
    applyTo() { return undefined; }
    mergeWith() { return this; }
    toJSON() { return { __op: 'Delete' }; }
  }

  function mixed() { throw new Error('Cannot merge this operation with the previous one'); }

  class IncrementOp extends Op {
    constructor(amount) {
      super();
      if (typeof amount !== 'number') throw new TypeError('Increment Op must be initialized with a numeric amount.');
      this._amount = amount;
    }
    applyTo(value) {
      if (value === undefined || value === null) return this._amount;
      if (typeof value !== 'number') throw new Error('Cannot increment a non-numeric value.');
      return value + this._amount;
    }
    mergeWith(previous) {
      if (!previous) return this;
      if (previous instanceof SetOp) return new SetOp(this.applyTo(previous._value));
      if (previous instanceof UnsetOp) return new SetOp(this._amount);
      if (previous instanceof IncrementOp) return new IncrementOp(this.applyTo(previous._amount));
      return mixed();
    }
    toJSON() { return { __op: 'Increment', amount: this._amount }; }
  }

  const isSame = (one, other) => {
    const ParseObject = internal('parse/object');
    if (one instanceof ParseObject && other instanceof ParseObject && one.id && other.id) {
      return one.className === other.className && one.id === other.id;
    }
    return equals(one, other);
  };
  const has = (list, value) => list.some(one => isSame(one, value));
  const unique = list => list.reduce((result, value) => (has(result, value) ? result : [...result, value]), []);
  const listOf = value => {
    if (!Array.isArray(value)) throw new Error('Cannot change the elements of a value that is no array');
    return value;
  };

  class AddOp extends Op {
    constructor(values) { super(); this._value = [].concat(values); }
    applyTo(value) { return value === undefined || value === null ? this._value : listOf(value).concat(this._value); }
    mergeWith(previous) {
      if (!previous) return this;
      if (previous instanceof SetOp) return new SetOp(this.applyTo(previous._value));
      if (previous instanceof UnsetOp) return new SetOp(this._value);
      if (previous instanceof AddOp) return new AddOp(this.applyTo(previous._value));
      return mixed();
    }
    toJSON() { return { __op: 'Add', objects: encode(this._value, false, true) }; }
  }

  class AddUniqueOp extends Op {
    constructor(values) { super(); this._value = unique([].concat(values)); }
    applyTo(value) {
      if (value === undefined || value === null) return this._value;
      return listOf(value).concat(this._value.filter(one => !has(value, one)));
    }
    mergeWith(previous) {
      if (!previous) return this;
      if (previous instanceof SetOp) return new SetOp(this.applyTo(previous._value));
      if (previous instanceof UnsetOp) return new SetOp(this._value);
      if (previous instanceof AddUniqueOp) return new AddUniqueOp(this.applyTo(previous._value));
      return mixed();
    }
    toJSON() { return { __op: 'AddUnique', objects: encode(this._value, false, true) }; }
  }

  class RemoveOp extends Op {
    constructor(values) { super(); this._value = unique([].concat(values)); }
    applyTo(value) { return value === undefined || value === null ? [] : listOf(value).filter(one => !has(this._value, one)); }
    mergeWith(previous) {
      if (!previous) return this;
      if (previous instanceof SetOp) return new SetOp(this.applyTo(previous._value));
      if (previous instanceof UnsetOp) return new UnsetOp();
      if (previous instanceof RemoveOp) return new RemoveOp(previous._value.concat(this._value));
      return mixed();
    }
    toJSON() { return { __op: 'Remove', objects: encode(this._value, false, true) }; }
  }

  class RelationOp extends Op {
    constructor(add = [], remove = []) {
      super();
      this._targetClassName = null;
      this.relationsToAdd = this.#ids(add);
      this.relationsToRemove = this.#ids(remove);
    }
    #ids(list) {
      return [...new Set([].concat(list).map(object => {
        if (typeof object === 'string') return object;
        if (!object.id) throw new Error('You cannot add or remove an unsaved Parse Object from a relation');
        this._targetClassName ||= object.className;
        if (this._targetClassName !== object.className) {
          throw new Error(`Tried to create a Relation with 2 different object types: ${this._targetClassName} and ${object.className}.`);
        }
        return object.id;
      }))];
    }
    applyTo(value, parent, key) {
      const Relation = internal('parse/relation');
      if (value === undefined || value === null) return new Relation(parent, key, this._targetClassName);
      if (!(value instanceof Relation)) throw new Error('Relation cannot be applied to a non-relation field');
      if (this._targetClassName) {
        if (value.targetClassName && value.targetClassName !== this._targetClassName) {
          throw new Error(`Related object must be a ${value.targetClassName}, but a ${this._targetClassName} was passed in.`);
        }
        value.targetClassName = this._targetClassName;
      }
      return value;
    }
    mergeWith(previous) {
      if (!previous) return this;
      if (previous instanceof UnsetOp) throw new Error('You cannot modify a relation after deleting it.');
      if (previous instanceof SetOp && previous._value instanceof internal('parse/relation')) return this;
      if (!(previous instanceof RelationOp)) return mixed();
      const name = previous._targetClassName || this._targetClassName;
      if (this._targetClassName && name !== this._targetClassName) {
        throw new Error(`Related object must be of class ${name}, but ${this._targetClassName} was passed in.`);
      }
      const without = (list, other) => list.filter(id => !other.includes(id));
      const merged = new RelationOp(
        [...without(previous.relationsToAdd, this.relationsToRemove), ...this.relationsToAdd],
        [...without(previous.relationsToRemove, this.relationsToAdd), ...this.relationsToRemove]);
      merged._targetClassName = name;
      return merged;
    }
    toJSON() {
      const pointers = ids => ids.map(objectId => ({ __type: 'Pointer', className: this._targetClassName, objectId }));
      const adds = { __op: 'AddRelation', objects: pointers(this.relationsToAdd) };
      const removes = { __op: 'RemoveRelation', objects: pointers(this.relationsToRemove) };
      if (this.relationsToAdd.length > 0 && this.relationsToRemove.length > 0) return { __op: 'Batch', ops: [adds, removes] };
      return this.relationsToRemove.length > 0 ? removes : this.relationsToAdd.length > 0 ? adds : {};
    }
  }

  function fromJSON(json) {
    switch (json.__op) {
      case 'Delete': return new UnsetOp();
      case 'Increment': return new IncrementOp(json.amount);
      case 'Add': return new AddOp(decode(json.objects));
      case 'AddUnique': return new AddUniqueOp(decode(json.objects));
      case 'Remove': return new RemoveOp(decode(json.objects));
      case 'SetOnInsert': return new SetOp(decode(json.amount));
      case 'AddRelation': return new RelationOp(decode(json.objects || []), []);
      case 'RemoveRelation': return new RelationOp([], decode(json.objects || []));
      case 'Batch': return json.ops.map(fromJSON).reduce((merged, op) => op.mergeWith(merged));
      default: throw new ParseError(ParseError.INVALID_JSON, `the operation ${json.__op} is not known`);
    }
  }

  module.exports = { Op, SetOp, UnsetOp, IncrementOp, AddOp, AddUniqueOp, RemoveOp, RelationOp, fromJSON };
})
